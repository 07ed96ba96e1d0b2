#include "managed/executor.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/check.h"

namespace verbena::managed {
namespace {

using paging::Need;
using paging::Run;
using paging::Ticket;
using paging::Verb;
using paging::View;

constexpr Duration kAskAgainAfter = Milliseconds(10);

// Tickets of the resident set. That of a program thread has the highest bit set and encodes the
// whole request: the run and the kind of access.
constexpr uint64_t kCpuBit = uint64_t{1} << 63;
constexpr uint64_t kWriteBit = uint64_t{1} << 62;
constexpr unsigned kCountShift = 32;
constexpr uint64_t kCountMask = 0xFFFF;
static_assert(FaultStreams::kWindowMax <= kCountMask);

Ticket TicketOf(Run run, bool is_write) {
  return Ticket(kCpuBit | (is_write ? kWriteBit : 0) | uint64_t{run.count} << kCountShift |
                run.first);
}

bool IsOfCpu(Ticket ticket) { return (ticket.value() & kCpuBit) != 0; }

bool IsWrite(Ticket ticket) { return (ticket.value() & kWriteBit) != 0; }

Run RunOf(Ticket ticket) {
  return {.first = static_cast<uint32_t>(ticket.value()),
          .count = static_cast<uint32_t>(ticket.value() >> kCountShift & kCountMask)};
}

uint8_t PendingBit(bool is_write) { return is_write ? 2 : 1; }

paging::WriteOutcome WriteOutcomeOf(SwapResult result) {
  switch (result) {
    case SwapResult::kGood:
      return paging::WriteOutcome::kGood;
    case SwapResult::kFull:
      return paging::WriteOutcome::kFull;
    case SwapResult::kFailed:
    case SwapResult::kCorrupt:
      return paging::WriteOutcome::kFailed;
  }
  UNREACHABLE();
}

paging::ReadOutcome ReadOutcomeOf(SwapResult result) {
  switch (result) {
    case SwapResult::kGood:
      return paging::ReadOutcome::kGood;
    case SwapResult::kCorrupt:
      return paging::ReadOutcome::kCorrupt;
    case SwapResult::kFull:
    case SwapResult::kFailed:
      return paging::ReadOutcome::kFailed;
  }
  UNREACHABLE();
}

paging::ResidentSetOptions ResidentSetOptions(const ArenaOptions& options, PageShift granule) {
  paging::ResidentSetOptions paging = options.paging;
  paging.budget =
      static_cast<uint32_t>(std::min<uint64_t>(options.budget >> granule.value(), UINT32_MAX));
  return paging;
}

}  // namespace

Executor::Executor(const Parts& parts, const ArenaOptions& options, const ArenaCallbacks& callbacks)
    : memory_(parts.memory),
      view_(parts.view),
      store_(parts.store),
      callbacks_(callbacks),
      now_(options.now),
      resident_set_(memory_.granule_count(), ResidentSetOptions(options, memory_.granule())),
      adapter_requests_(options.paging.tickets_max),
      cpu_pending_(memory_.granule_count()),
      program_patience_(options.program_patience),
      residency_(memory_.granule_count()) {
  for (uint32_t i = options.paging.tickets_max; i-- > 0;) free_requests_.push_back(i);
}

void Executor::Serve(const Request& request) {
  switch (request.kind) {
    case Request::Kind::kPageIn:
      return RequestForAdapter(request);
    case Request::Kind::kDiscard:
      return Discard(request);
    case Request::Kind::kSwapOut:
      return SwapOut(request);
    case Request::Kind::kSwapIn:
      resident_set_.SwapIn(Ticket(request.ticket), now_());
      return CarryOut();
    case Request::Kind::kSetBudget:
      resident_set_.SetBudget(static_cast<uint32_t>(std::min<uint64_t>(
                                  request.length >> memory_.granule().value(), UINT32_MAX)),
                              now_());
      return CarryOut();
    case Request::Kind::kHoldProgram:
      return HoldProgram();
    case Request::Kind::kLetProgramGo:
      return view_.Wake({0, memory_.granule_count()});
  }
}

void Executor::RequestForAdapter(const Request& request) {
  if (free_requests_.empty()) {
    return callbacks_.on_ready(request.ticket, Fail(paging::RequestError::kLimit));
  }
  const uint32_t index = free_requests_.back();
  free_requests_.pop_back();
  adapter_requests_[index] = {request.ticket, request.first_byte, request.length};
  const unsigned shift = memory_.granule().value();
  const auto first = static_cast<uint32_t>(request.first_byte >> shift);
  const auto last = static_cast<uint32_t>((request.first_byte + request.length - 1) >> shift);
  resident_set_.PageIn(Ticket(index), {first, last - first + 1},
                       request.for_write ? Need::kWrite : Need::kRead, View::kAdapter, now_());
  CarryOut();
}

void Executor::ServeFaults() {
  std::array<CpuFault, 32> faults;
  const size_t count = view_.TakeFaults(faults);
  cpu_faults_ += count;
  const std::optional<Run> gone = view_.TakeGone();
  if (holds_program_) return;
  if (gone) ServeGone(*gone);
  for (const CpuFault& fault : std::span(faults).first(count)) RequestForCpu(fault);
}

// Threads that wait in a fault keep waiting: from here on no answer wakes them.
void Executor::HoldProgram() {
  holds_program_ = true;
  view_.Unmap({0, memory_.granule_count()});
}

// Unmaps for the adapter first, so that it requests no page that is being discarded.
void Executor::ServeGone(Run among) {
  for (uint32_t i = among.first; i < among.end(); ++i) {
    Run run{i, 0};
    while (run.end() < among.end() && view_.IsGone(static_cast<uint32_t>(run.end()))) ++run.count;
    if (run.count == 0) continue;
    const std::span<std::byte> bytes = memory_.Contents(run);
    if (callbacks_.on_gone) callbacks_.on_gone(bytes.data(), bytes.data() + bytes.size() - 1);
    Discard(run);
    i = static_cast<uint32_t>(run.end());
  }
}

// One ticket serves all threads that wait for the same granule: mapping it wakes them all.
void Executor::RequestForCpu(const CpuFault& fault) {
  if (IsPending(fault.granule, fault.is_write)) return;
  const Run run = RunFor(fault);
  SetPending(run, fault.is_write, true);
  resident_set_.PageIn(TicketOf(run, fault.is_write), run,
                       fault.is_write ? Need::kWrite : Need::kRead, View::kCpu, now_());
  CarryOut();
}

// A thread that walks through memory gets the next granules as well. A write fault does not widen
// over granules that have contents, because it would make them dirty, unless the thread writes to
// all that it reaches.
Run Executor::RunFor(const CpuFault& fault) {
  const Residency place = residency(fault.granule);
  const auto [window, is_of_writer] = fault_streams_.WindowAt(fault.granule, fault.is_write);
  const bool may_widen = place == Residency::kAbsent || is_of_writer ||
                         (place == Residency::kInMemory && !fault.is_write);
  const uint32_t most = std::min(window, memory_.granule_count() - fault.granule);
  Run run{fault.granule, 1};
  while (may_widen && run.count < most && residency(run.first + run.count) == place &&
         !IsPending(run.first + run.count, fault.is_write)) {
    ++run.count;
  }
  if (run.count < window) fault_streams_.Cut(fault.granule, window, run.count);
  return run;
}

bool Executor::IsPending(uint32_t granule, bool is_write) const {
  return (cpu_pending_[granule] & PendingBit(is_write)) != 0;
}

void Executor::SetPending(Run run, bool is_write, bool is_pending) {
  const uint8_t bit = PendingBit(is_write);
  for (uint32_t i = run.first; i < run.end(); ++i) {
    const uint8_t others = cpu_pending_[i] & static_cast<uint8_t>(~bit);
    cpu_pending_[i] = is_pending ? others | bit : others;
  }
}

// Empty if the request covers no whole granule.
Run Executor::WholeGranules(const Request& request) const {
  const uint64_t granule = memory_.granule().bytes();
  const uint64_t first = (request.first_byte + granule - 1) / granule;
  const uint64_t end = (request.first_byte + request.length) / granule;
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(std::max(first, end) - first)};
}

void Executor::Discard(const Request& request) {
  const Run run = WholeGranules(request);
  if (run.count > 0) Discard(run);
}

void Executor::SwapOut(const Request& request) {
  const Run run = WholeGranules(request);
  if (run.count == 0) {
    if (callbacks_.on_swapped_out) callbacks_.on_swapped_out(request.ticket, 0);
    return;
  }
  resident_set_.SwapOut(Ticket(request.ticket), run, now_());
  CarryOut();
}

void Executor::OnSwappedOut(const paging::Action& action) const {
  if (!callbacks_.on_swapped_out) return;
  callbacks_.on_swapped_out(action.ticket.value(), action.run.count * memory_.granule().bytes());
}

void Executor::Discard(Run run) {
  resident_set_.Discard(run, now_());
  CarryOut();
  for (uint32_t i = run.first; i < run.end(); ++i) {
    if (residency(i) != Residency::kBroken) continue;
    if (!holds_program_) view_.Unmap({i, 1});  // ends the refusal
    Mark({i, 1}, Residency::kAbsent);
  }
}

// Submits the orders of one step together, and takes outcomes until all remaining orders are in
// flight: only the end of a transfer wakes the pager for those.
void Executor::ServeStore() {
  std::array<SwapOutcome, 256> outcomes;
  size_t count = 0;
  do {
    count = store_.Reap(outcomes);
    TakeOutcomes(std::span(outcomes).first(count));
    GiveDelayed();
  } while (count > 0 || store_.has_outcomes());
}

// Outcomes of one transfer are adjacent, and are taken together.
void Executor::TakeOutcomes(std::span<const SwapOutcome> outcomes) {
  while (!outcomes.empty()) {
    const SwapOutcome& first = outcomes.front();
    size_t count = 1;
    while (count < outcomes.size() && outcomes[count].is_store == first.is_store &&
           outcomes[count].result == first.result &&
           outcomes[count].granule == first.granule + count) {
      ++count;
    }
    const Run run{static_cast<uint32_t>(first.granule), static_cast<uint32_t>(count)};
    if (first.is_store) {
      if (first.result == SwapResult::kGood) program_waits_since_ = Time::Never();
      resident_set_.WriteDone(run, WriteOutcomeOf(first.result), now_());
    } else {
      resident_set_.ReadDone(run, ReadOutcomeOf(first.result), now_());
    }
    CarryOut();
    outcomes = outcomes.subspan(count);
  }
}

void Executor::OnTime() {
  const Time now = now_();
  if (now >= ask_again_at_) {
    ask_again_at_ = Time::Never();
    asking_.clear();
    asking_.swap(ask_again_);
    for (const CpuFault& fault : asking_) {
      SetPending({fault.granule, 1}, fault.is_write, false);
      RequestForCpu(fault);
    }
  }
  if (now < resident_set_.next_time()) return;
  resident_set_.OnTime(now);
  CarryOut();
}

Time Executor::next_time() const { return std::min(resident_set_.next_time(), ask_again_at_); }

ArenaReport Executor::report() const {
  return {.budget_bytes = resident_set_.budget() * memory_.granule().bytes(),
          .granule_bytes = memory_.granule().bytes(),
          .cpu_faults = cpu_faults_,
          .cpu_refused = cpu_refused_,
          .paging = resident_set_.counters(),
          .swap = store_.counters(),
          .store = store_report_,
          .view_method = view_.method(),
          .swap_method = store_.method()};
}

void Executor::CarryOut() {
  for (const paging::Action& action : resident_set_.actions()) {
    if (action.verb != Verb::kUnmap) UnmapForAdapter();
    CarryOut(action);
  }
  UnmapForAdapter();
  resident_set_.ClearActions();
}

void Executor::CarryOut(const paging::Action& action) {
  switch (action.verb) {
    case Verb::kUnmap:
      return Unmap(action);
    case Verb::kWrite:
      return Order(action.run, true);
    case Verb::kRead:
      Mark(action.run, Residency::kInMemory);
      memory_.Allocate(action.run);
      return Order(action.run, false);
    case Verb::kDrop:
      return Drop(action.run);
    case Verb::kMakeZero:
      Mark(action.run, Residency::kInMemory);
      return memory_.MakeZero(action.run);
    case Verb::kMap:
      // The adapter maps its pages itself when on_ready reports them.
      if (action.view == View::kCpu && !holds_program_) view_.Map(action.run, action.is_writable);
      return;
    case Verb::kForget:
      for (uint32_t i = action.run.first; i < action.run.end(); ++i) {
        store_.Forget(i);
        if (residency(i) == Residency::kSwapped) Mark({i, 1}, Residency::kAbsent);
      }
      return;
    case Verb::kReady:
    case Verb::kRefused:
      return Answer(action);
    case Verb::kSwappedOut:
      return OnSwappedOut(action);
    case Verb::kReport:
      store_report_ = action.report;
      if (callbacks_.on_store) callbacks_.on_store(action.report);
      return;
  }
}

void Executor::Unmap(const paging::Action& action) {
  if (action.view == View::kCpu) return holds_program_ ? void() : view_.Unmap(action.run);
  leaving_.push_back(memory_.Contents(action.run));
}

// Reports all leaving granules in one call, because the adapter has to stop its accesses for each
// call.
void Executor::UnmapForAdapter() {
  if (leaving_.empty()) return;
  callbacks_.unmap_adapter(leaving_);
  leaving_.clear();
}

void Executor::Order(Run run, bool is_store) {
  for (uint32_t i = run.first; i < run.end(); ++i) {
    const Delayed order{.granule = i, .is_store = is_store};
    if (!delayed_.empty() || !GiveOrder(order)) delayed_.push_back(order);
  }
}

bool Executor::GiveOrder(const Delayed& order) {
  const std::span<std::byte> contents = memory_.Contents({order.granule, 1});
  return order.is_store ? store_.Store(order.granule, contents)
                        : store_.Load(order.granule, contents);
}

void Executor::GiveDelayed() {
  while (delayed_done_ < delayed_.size() && GiveOrder(delayed_[delayed_done_])) ++delayed_done_;
  store_.Submit();
  if (delayed_done_ < delayed_.size()) return;
  delayed_.clear();
  delayed_done_ = 0;
}

void Executor::Drop(Run run) {
  memory_.Drop(run);
  for (uint32_t i = run.first; i < run.end(); ++i) {
    const bool is_broken = resident_set_.granule(i).state == paging::ResidentSet::State::kBroken;
    const Residency elsewhere = store_.Holds(i) ? Residency::kSwapped : Residency::kAbsent;
    Mark({i, 1}, is_broken ? Residency::kBroken : elsewhere);
  }
}

void Executor::Answer(const paging::Action& action) {
  if (IsOfCpu(action.ticket)) return AnswerCpu(action);
  const auto index = static_cast<uint32_t>(action.ticket.value());
  const AdapterRequest request = adapter_requests_[index];
  free_requests_.push_back(index);
  if (action.verb == Verb::kRefused) {
    return callbacks_.on_ready(request.ticket, Fail(action.error));
  }
  const uint64_t granule = memory_.granule().bytes();
  const uint64_t ready_end = (request.first_byte / granule + action.run.count) * granule;
  callbacks_.on_ready(request.ticket, std::min(request.length, ready_end - request.first_byte));
}

// The ready granules are mapped already, which woke their threads. Threads that wait for the rest
// of the run are woken to fault again.
void Executor::AnswerCpu(const paging::Action& action) {
  if (holds_program_) return;
  const Run run = RunOf(action.ticket);
  const bool is_write = IsWrite(action.ticket);
  SetPending(run, is_write, false);
  const bool is_ready = action.verb == Verb::kReady;
  const uint32_t done = is_ready ? action.run.count : 1;
  if (done < run.count) view_.Wake({run.first + done, run.count - done});
  if (is_ready) return;
  const bool is_lost = action.error != paging::RequestError::kLimit;
  if (!is_lost && MayProgramWait()) {
    SetPending({run.first, 1}, is_write, true);
    ask_again_.push_back({run.first, is_write});
    ask_again_at_ = std::min(ask_again_at_, now_() + kAskAgainAfter);
    return;
  }
  ++cpu_refused_;
  if (is_lost) Mark({run.first, 1}, Residency::kBroken);
  view_.Refuse({run.first, 1});
}

bool Executor::MayProgramWait() {
  const Time now = now_();
  program_waits_since_ = std::min(program_waits_since_, now);
  return now - program_waits_since_ < program_patience_;
}

void Executor::Mark(Run run, Residency residency) {
  for (uint32_t i = run.first; i < run.end(); ++i) {
    residency_[i].store(residency, std::memory_order_relaxed);
  }
}

}  // namespace verbena::managed
