// The machines of run.h.

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "sim/iwarp/run.h"

namespace verbena::sim {

using wire::StreamOffset;

void IwarpRun::StepAll() {
  if (!is_healed_ && Chance(plan_.evicts)) Evict();
  for (const auto& side : sides_) StepSide(*side);
  constexpr uint32_t kChecksEvery = 32;
  if (++steps_ % kChecksEvery == 0) CheckMemory();
}

void IwarpRun::StepSide(IwarpSide& side) {
  Stream& out = *streams_[side.number];
  for (bool again = true; again && findings_.empty();) {
    transport::Step step = side.MakeStep(now_);
    if (side.qp->Run(step)) findings_.Add("liveness", "it wants to run for ever");
    DrainOutbox(side);
    const size_t before = side.buffer->size();
    out.Pull(*side.buffer, now_);
    again = side.qp->wants_room() && side.buffer->size() < before;
    if (!side.qp->IsConsistent()) findings_.Add("leaks", "a queue pair is not consistent");
    if (side.qp->state() == QpState::kErr) OnEnded(side);
    PollSends(side);
    PollReceives(side);
  }
}

void IwarpRun::DrainOutbox(IwarpSide& side) {
  const std::vector<transport::PageRequest> requests(side.outbox.page_requests().begin(),
                                                     side.outbox.page_requests().end());
  const std::vector<transport::RaisedEvent> events(side.outbox.events().begin(),
                                                   side.outbox.events().end());
  side.outbox.Clear();
  for (const auto& request : requests) ServePages(side, request);
  for (const auto& event : events) {
    if (event.type == AsyncEventType::kSendQueueDrained) {
      if (!side.is_draining) findings_.Add("completions", "a drain was reported without one");
      const uint32_t connection = connection_;
      At(now_ + plan_.delay_max, [this, &side, connection] {
        if (connection != connection_ || side.qp->state() != QpState::kSqd) return;
        side.qp->ResumeSends();
        side.is_draining = false;
      });
    }
  }
}

void IwarpRun::ServePages(IwarpSide& side, const transport::PageRequest& request) {
  const uint32_t connection = connection_;
  const auto time = Nanoseconds(
      static_cast<int64_t>(random_.Below(static_cast<uint64_t>(plan_.page_time.nanoseconds()))));
  const bool fails = !is_healed_ && Chance(plan_.page_failures);
  At(now_ + time, [this, &side, request, connection, fails] {
    if (connection != connection_) return;
    if (!fails) {
      CHECK(side.core.regions
                .MapPages(request.fault.region, request.fault.first_page, request.fault.page_count,
                          {}, true)
                .has_value());
    } else {
      has_other_cause_ = true;
    }
    transport::Step step = side.MakeStep(now_);
    side.qp->OnPagesReady(request.ticket, !fails, step);
    DrainOutbox(side);
    streams_[1 - side.number]->Retry();
  });
}

size_t IwarpRun::Deliver(IwarpSide& to, StreamOffset at, std::span<std::byte> bytes) {
  transport::Step step = to.MakeStep(now_);
  const size_t taken = to.qp->OnBytes(at, bytes, step);
  DrainOutbox(to);
  PollReceives(to);
  return taken;
}

void IwarpRun::PollSends(IwarpSide& side) {
  Completion completion;
  while (findings_.empty() && side.send_cq->Poll(std::span(&completion, 1)).value_or(0) == 1) {
    Say(side,
        "completes " + std::to_string(completion.id.value()) + ": " + NameOf(completion.status));
    const AllowedErrors allowed{.is_broken = is_broken_, .is_attacked = has_other_cause_};
    side.completions.Completed(
        completion, allowed, findings_,
        [&](Operation& operation, bool well) { OnDone(side, operation, well); });
  }
}

// The send queue is done with the operation.
void IwarpRun::OnDone(IwarpSide& side, Operation& operation, bool well) {
  IwarpSide& peer = *sides_[1 - side.number];
  if (operation.local_slot) side.local_used[*operation.local_slot] = false;
  if (operation.opcode == queue::SendOpcode::kFetchAndAdd) {
    uint64_t found = 0;
    std::memcpy(&found, side.local->At(*operation.local_slot * IwarpSide::kSlot), sizeof found);
    side.local->shadow().Finish(operation.id, well, "an atomic", findings_);
    if (well) {
      atomics_[peer.number].Succeeded(found, operation.word);
    } else {
      atomics_[peer.number].Failed(connection_ * 2 + side.number, operation.word);
    }
  } else if (operation.opcode == queue::SendOpcode::kRead) {
    side.local->shadow().Finish(operation.id, well, "a read", findings_);
  } else {
    return;
  }
  operation.has_ended = well;
  // The peer has answered after all that was sent before.
  if (well) Settle(side, operation.id + 1);
}

// The peer has executed all writes before this operation. A read or atomic is settled by its own
// response.
void IwarpRun::Settle(IwarpSide& side, uint64_t before) {
  std::erase_if(side.posted, [&](const std::shared_ptr<Operation>& operation) {
    const bool is_write = operation->opcode == queue::SendOpcode::kWrite ||
                          operation->opcode == queue::SendOpcode::kWriteWithImmediate;
    if (operation->id >= before || (!is_write && !operation->has_ended)) return false;
    SettleOne(side, *operation, true);
    return true;
  });
}

void IwarpRun::SettleOne(IwarpSide& side, Operation& operation, bool well) {
  IwarpSide& peer = *sides_[1 - side.number];
  const bool is_legal = operation.fate == Fate::kSuccess;
  peer.exposed->shadow().Finish(operation.id, well && is_legal, "a write", findings_);
  if (operation.remote_slot) peer.exposed_used[*operation.remote_slot] = false;
  if (operation.granted == 0) return;
  peer.window_is_used = false;
  const bool is_dead = !peer.core.translator
                            .Authorize(Key(static_cast<uint32_t>(operation.granted)), KeyAddress(0),
                                       1, memory::AccessKind::kRemoteWrite, peer.who())
                            .has_value() &&
                       !peer.core.translator
                            .Authorize(Key(static_cast<uint32_t>(operation.granted)), KeyAddress(0),
                                       1, memory::AccessKind::kRemoteRead, peer.who())
                            .has_value();
  if (well && operation.bytes.size() > 0 && !is_dead) {
    findings_.Add("access", "a one-touch key has outlived the message that used it");
  }
  result_.one_touch += well && is_dead ? 1 : 0;
}

void IwarpRun::PollReceives(IwarpSide& side) {
  Completion completion;
  while (findings_.empty() && side.receive_cq->Poll(std::span(&completion, 1)).value_or(0) == 1) {
    const uint64_t slot = side.received++ % IwarpSide::kSlots;
    const bool well = completion.status == CompletionStatus::kSuccess;
    side.receives->shadow().Finish(completion.id.value(), well, "a receive", findings_);
    if (!well) {
      const bool is_allowed = side.qp->state() == QpState::kErr;
      if (!is_allowed) findings_.Add("completions", "a receive failed without a reason");
      continue;
    }
    ++result_.messages;
    if (side.expected.empty()) return findings_.Add("messages", "a message was invented");
    const IwarpMessage message = side.expected.front();
    side.expected.pop_front();
    const std::byte* const at = side.receives->At(slot * IwarpSide::kSlot);
    const bool is_right =
        completion.with_immediate == message.immediate.has_value() &&
        (!message.immediate || completion.immediate.value() == *message.immediate) &&
        (message.immediate ? completion.byte_count == message.written
                           : completion.byte_count == message.bytes.size() &&
                                 std::equal(message.bytes.begin(), message.bytes.end(), at));
    if (!is_right) findings_.Add("messages", "a message is not the one that was sent");
    Settle(*sides_[1 - side.number], message.id);
    if (side.qp->state() != QpState::kErr) side.PostReceives();
  }
}

// A queue pair is in error: its last bytes are sent, and then its stream ends.
void IwarpRun::OnEnded(IwarpSide& side) {
  IwarpSide& peer = *sides_[1 - side.number];
  if (!is_broken_) {
    is_broken_ = true;
    ++result_.broken;
    const bool was_corrupted = streams_[0]->was_corrupted() || streams_[1]->was_corrupted();
    if (!expected_code_ && !has_other_cause_ && !was_corrupted) {
      findings_.Add("completions", "the connection broke without a reason");
    }
    const auto& sent = side.qp->terminate_sent();
    Say(side, "ends the stream: " + (sent ? ToString(*sent) : std::string("no Terminate")));
    const bool is_judged = expected_code_ && !has_other_cause_ && !was_corrupted;
    if (is_judged && side.number == illegal_side_) {
      findings_.Add("terminate", "the side that made the illegal request ended the stream");
    } else if (is_judged && (!sent || sent->code != *expected_code_)) {
      findings_.Add("terminate", "the code is " + (sent ? ToString(*sent) : std::string("none")) +
                                     ", not " + NameOf(*expected_code_));
    }
    if (was_corrupted && !expected_code_ && !has_other_cause_ && sent &&
        static_cast<unsigned>(sent->code) >> 12 != 2) {
      findings_.Add("terminate", "a changed bit was not found by the CRC");
    }
  }
  if (side.buffer->empty() && streams_[side.number]->is_idle() &&
      peer.qp->state() != QpState::kErr) {
    peer.qp->OnStreamEnd();
  }
}

void IwarpRun::Break(const char* why) {
  Say(*sides_[0], why);
  is_broken_ = true;
  ++result_.broken;
  for (const auto& stream : streams_) stream->Cut();
  for (const auto& side : sides_) side->qp->OnStreamEnd();
}

void IwarpRun::Evict() {
  IwarpSide& side = *sides_[random_.Below(2)];
  GuardedMemory* const memories[] = {side.local.get(), side.receives.get(), side.exposed.get()};
  GuardedMemory& memory = *memories[random_.Below(3)];
  memory.Evict(side.core, random_.Below(memory.pages()));
}

void IwarpRun::CheckMemory() {
  for (const auto& side : sides_) {
    for (GuardedMemory* const memory :
         {side->local.get(), side->receives.get(), side->exposed.get()}) {
      memory->shadow().Check(findings_);
    }
  }
}

}  // namespace verbena::sim
