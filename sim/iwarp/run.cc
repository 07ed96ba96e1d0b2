#include "sim/iwarp/run.h"

#include <cstring>

#include "base/check.h"
#include "memory/copy/signal_guard.h"
#include "sim/iwarp/byte_stream.h"
#include "sim/iwarp/message_stream.h"
#include "sim/oracle/leaks.h"

namespace verbena::sim {
namespace {

// Far more than any plan needs: a connection that exceeds it does not end.
constexpr uint32_t kStepsMax = 200'000;

}  // namespace

IwarpRun::Result IwarpRun::Run(const IwarpPlan& plan, const Trace& trace) {
  memory::SignalGuard::Install();
  Result result = IwarpRun(plan, trace).RunAll();
  memory::SignalGuard::Uninstall();
  return result;
}

IwarpRun::IwarpRun(const IwarpPlan& plan, const Trace& trace)
    : plan_(plan), trace_(trace), random_(plan.seed ^ 0x1A4C0DE5) {
  for (uint32_t i = 0; i < 2; ++i) {
    sides_[i] = std::make_unique<IwarpSide>(plan, i, random_.Fork());
  }
}

IwarpRun::Result IwarpRun::RunAll() {
  while (connection_ < plan_.connections && findings_.empty()) RunConnection();
  for (const auto& side : sides_) {
    if (!findings_.empty()) break;
    uint64_t word = 0;
    std::memcpy(&word, side->exposed->At(IwarpSide::kCounter), sizeof word);
    atomics_[side->number].Check(word, findings_);
    CHECK(side->core.windows.Deallocate(side->window).has_value());
    for (GuardedMemory* const memory :
         {side->local.get(), side->receives.get(), side->exposed.get()}) {
      if (!memory->Deregister(side->core)) findings_.Add("leaks", "a region is in use");
    }
    const auto owner = side->core.domains.Find(side->pd)->owner;
    CHECK(side->core.domains.Deallocate(side->pd).has_value());
    CHECK(side->core.consumers.Close(owner).has_value());
    CheckNothingIsLeft(side->core, findings_);
  }
  result_.failure = findings_.text();
  result_.virtual_time = now_ - Time();
  return result_;
}

void IwarpRun::Connect() {
  is_broken_ = is_healed_ = has_other_cause_ = false;
  expected_code_.reset();
  steps_ = 0;
  const bool is_session = plan_.sessions > 0 && Chance(plan_.sessions);
  result_.sessions += is_session ? 1 : 0;
  for (uint32_t i = 0; i < 2; ++i) {
    IwarpSide& side = *sides_[i];
    side.qp_number = QpNumber(100 + 2 * connection_ + i);
    transport::IwarpConfig config{.local_qp = side.qp_number,
                                  .who = side.who(),
                                  .max_rd_atomic = plan_.max_rd_atomic,
                                  .max_dest_rd_atomic = plan_.max_rd_atomic,
                                  .remote_rights = Access::kRemote,
                                  .stream = plan_.stream};
    // One of the two is the responder of the set-up.
    config.stream.waits_for_first = i == 1;
    if (is_session) config.stream.framing = transport::StreamFraming::kRecords;
    side.Connect(config, plan_.depth, plan_.send_buffer);
    side.PostReceives();
    IwarpSide& peer = *sides_[1 - i];
    streams_[i] = MakeStream(peer, config.stream.framing);
  }
  ++connection_;
}

std::unique_ptr<Stream> IwarpRun::MakeStream(IwarpSide& peer, transport::StreamFraming framing) {
  const auto receive = [this, &peer](wire::StreamOffset at, std::span<std::byte> bytes) {
    return Deliver(peer, at, bytes);
  };
  if (framing == transport::StreamFraming::kRecords) {
    return std::make_unique<MessageStream>(plan_, random_.Fork(), receive);
  }
  return std::make_unique<ByteStream>(plan_, random_.Fork(), receive);
}

void IwarpRun::RunConnection() {
  Connect();
  left_to_post_ = plan_.operations;
  const auto moment = [this] {
    return now_ + Nanoseconds(static_cast<int64_t>(
                      random_.Below(static_cast<uint64_t>(plan_.duration.nanoseconds()))));
  };
  for (uint32_t i = 0; i < plan_.operations; ++i) {
    At(moment(), [this] {
      if (!is_broken_) PostSome();
    });
  }
  if (Chance(plan_.resets)) {
    At(moment(), [this] {
      has_other_cause_ = true;
      Break("reset");
    });
  }
  RunUntilQuiet();
  is_healed_ = true;
  for (const auto& stream : streams_) stream->Heal();
  RunUntilQuiet();
  const bool was_corrupted = streams_[0]->was_corrupted() || streams_[1]->was_corrupted();
  if (!is_broken_ && findings_.empty() && !was_corrupted) Barrier();
  TakeDown();
}

// Runs until nothing is due any more.
void IwarpRun::RunUntilQuiet() {
  StepAll();
  while (findings_.empty() && RunNext()) {
    StepAll();
    if (++steps_ > kStepsMax) findings_.Add("liveness", "it does not end");
  }
}

bool IwarpRun::RunNext() {
  Time next = actions_.empty() ? Time::Never() : actions_.begin()->first;
  for (const auto& stream : streams_) next = std::min(next, stream->next_time());
  if (next == Time::Never()) return false;
  CHECK(next >= now_);
  now_ = next;
  for (const auto& stream : streams_) stream->Run(now_);
  while (!actions_.empty() && actions_.begin()->first <= now_) {
    const auto action = std::move(actions_.begin()->second);
    actions_.erase(actions_.begin());
    action();
  }
  return true;
}

// A last message in each direction shows that all before it has arrived. The one of side 0 lets
// side 1 send, if nothing did before.
void IwarpRun::Barrier() {
  for (int i = 0; i < 2 && findings_.empty(); ++i) {
    IwarpSide& side = *sides_[i];
    if (side.is_draining && side.qp->state() == QpState::kSqd) side.qp->ResumeSends();
    side.is_draining = false;
    RunUntilQuiet();
    const bool is_stuck = side.send_queue->begin() < side.send_queue->end();
    if (is_stuck) findings_.Add("liveness", "an operation does not end");
    if (!findings_.empty() || is_broken_) return;
    side.completions.Drained(
        findings_, [&](Operation& operation, bool well) { OnDone(side, operation, well); });
    CHECK(PostSend(side, *sides_[1 - i]));
    RunUntilQuiet();
  }
  for (const auto& side : sides_) {
    if (!findings_.empty() || is_broken_) return;
    if (!side->expected.empty()) findings_.Add("messages", "a message has not arrived");
    if (!side->posted.empty()) findings_.Add("bytes", "a write is not known to have arrived");
  }
}

void IwarpRun::TakeDown() {
  if (!findings_.empty()) return;
  is_broken_ = true;
  for (const auto& side : sides_) side->qp->BecomeFailed();
  for (const auto& stream : streams_) stream->Cut();
  actions_.clear();
  StepAll();
  for (const auto& side : sides_) {
    if (!findings_.empty()) return;
    side->completions.Drained(
        findings_, [&](Operation& operation, bool well) { OnDone(*side, operation, well); });
    while (!side->posted.empty()) {
      const auto operation = side->posted.front();
      side->posted.pop_front();
      SettleOne(*side, *operation, false);
    }
    for (uint64_t i = side->received; i < side->receives_posted; ++i) {
      findings_.Add("completions", "a receive request was not flushed");
    }
    if (side->core.one_touch.remembered_count() != 0) {
      findings_.Add("leaks", "a touched key is remembered");
    }
    const auto counters = side->qp->counters();
    result_.early += counters.frames_early;
    result_.page_waits += counters.page_waits;
    result_.terminated += side->qp->terminate_sent() ? 1 : 0;
    result_.segments += streams_[side->number]->segments();
    result_.digest = result_.digest * 31 + streams_[side->number]->digest();
  }
  CheckMemory();
}

void IwarpRun::Say(const IwarpSide& side, const std::string& text) {
  if (trace_)
    trace_(ToString(now_ - Time()) + " side " + std::to_string(side.number) + ": " + text);
}

}  // namespace verbena::sim
