#include "adapter/loop/engine.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/when_memory.h"
#include "transport/common/send_in_order.h"

namespace verbena::adapter {
namespace {

// Lets a poller return with its completions before the acknowledgements for them are sent: these
// leave with the program's next post, in the same system call. docs/threading.md has the gain.
constexpr bool kPollerGoesFirst = true;

// How often a thread that waits for the lock checks its holder. See LockHolder.
constexpr Duration kLookAtHolder = Microseconds(500);

transport::MulticastGroups::Limits GroupLimits(const AdapterOptions& options) {
  return {.groups = options.multicast_groups_max, .members = options.multicast_members_max};
}

odp::PagingOptions PagingOptionsOf(const AdapterOptions& options) {
  return {.batch_max = options.page_batch_max,
          .requests_max = transport::Outbox::PageRequestsMax(options.outbox_packets),
          .ready_at_once = options.outbox_packets,
          .on_urgent_warning = options.on_urgent_warning};
}

GsiOptions GsiOptionsOf(const AdapterOptions& options, fabric::EndpointId endpoint) {
  const PortMap ports = PortsOf(options);
  const QpNumber one = wire::kGeneralServicesQp;
  return {.ports = ports,
          .number = ports.strict ? one : MakeQpNumber(endpoint, one.value()),
          .seed = options.identity_seed};
}

}  // namespace

Engine::Engine(const AdapterOptions& options, std::unique_ptr<fabric::Fabric> fabric, Alarm alarm,
               AsyncEvents& events, odp::PageService& pages, const Clock& clock,
               fabric::MachineAddresses& addresses, std::unique_ptr<Trace> trace,
               PageEvents* page_events)
    : LockedTables(MemoryOptionsOf(options)),
      qps(options.qps_max, options.identity_seed),
      paths(options.paths_max, addresses),
      groups(GroupLimits(options)),
      gsi(GsiOptionsOf(options, fabric->endpoint())),
      paging(*this, pages, page_events, PagingOptionsOf(options)),
      options_(options),
      endpoints_(std::move(fabric)),
      trace_(std::move(trace)),
      events_(events),
      clock_(clock),
      addresses_(addresses),
      sockets_(endpoints_.fd()),
      outbox_(options.outbox_packets),
      loopback_({.datagrams = options.loopback_packets}),
      alarm_(std::move(alarm)),
      transmitter_(endpoints_, loopback_, paths, PortsOf(options), counters_,
                   options.outbox_packets, addresses, trace_.get()),
      dispatcher_(
          qps, groups, run_queue_, counters_,
          [this](const std::string& warning) {
            AssertHeld();
            Warn(warning);
          },
          trace_.get(), options.connection_manager ? &gsi : nullptr, &addresses) {
  qps.AddEndpoint(endpoints_.first().endpoint());
  if (trace_ != nullptr) endpoints_.first().ReportHeaders();
}

// All work of an adapter, in order.
bool Engine::Pass() {
  if (stuck_watch_ != nullptr) stuck_watch_->Arm();
  const bool received = ReceiveHalf();
  const bool did = TransmitHalf();
  return received || did;
}

// A thread that takes an event returns early, as a poller does: the acknowledgements leave with the
// program's next post.
bool Engine::PassFor(const ExpectedEvent& channel) {
  if (stuck_watch_ != nullptr) stuck_watch_->Arm();
  const bool received = ReceiveHalf();
  is_deferred_ = kPollerGoesFirst && received && channel.has_expected();
  const bool did = !is_deferred_ && TransmitHalf();
  if (channel.has_expected()) {
    polled_until_ns_.store((now_ + options_.pass_time).nanoseconds(), std::memory_order_relaxed);
  }
  return received || did;
}

bool Engine::ReceiveHalf() {
  ReadClock();
  ++counters_.passes;
  counters_.pages_invalidated += paging.MarkGivenUpAbsent();
  const bool packets = Receive();                     // network -> state machines
  const bool pages = TakePages();                     // pager -> state machines
  counters_.pages_invalidated += paging.Watch(now_);  // tables -> pager -> tables
  // Packets that have arrived come first: an acknowledgement among them stops its timer.
  const bool timers = !(packets && TimersWait()) && RunTimers();  // clock -> state machines
  const bool mads = RunGsi();                                     // clock -> connection manager
  return packets || pages || timers || mads;
}

bool Engine::TransmitHalf() {
  DCHECK(outbox_.packets().empty());  // each queue pair's were staged when it had run
  transmitter_.OnTime(now_);
  const bool ran = RunReady();  // state machines -> packets, completions, page requests, events
  if (gsi.has_datagrams()) SendMads();
  Transmit();  // packets -> network
  is_deferred_ = false;
  return ran;
}

bool Engine::Receive() {
  if (iwarp != nullptr) return ReceiveStreams();
  transport::Step step = MakeStep();
  const bool any = endpoints_.Receive(
      [&](const fabric::Fabric& by, std::span<const fabric::ReceivedDatagram> datagrams) {
        AssertHeld();
        for (const fabric::ReceivedDatagram& datagram : datagrams) {
          dispatcher_.OnDatagram(datagram, by.port(), step);
          // Pages that are in memory are there before the next packet, which would be dropped.
          if (outbox_.is_crowded() || !outbox_.page_requests().empty()) DrainOutbox();
        }
      });
  DrainOutbox();
  return any;
}

bool Engine::TakePages() {
  if (!paging.has_ready()) return false;
  transport::Step step = MakeStep();
  paging.TakeReady(now_, [&](const transport::PageRequest& request, bool available) {
    AssertHeld();
    if (!available) ++counters_.pages_refused;
    OnPages(request, available, step);
    if (outbox_.is_crowded()) DrainOutbox();
  });
  DrainOutbox();
  return true;
}

void Engine::OnPages(const transport::PageRequest& request, bool available, transport::Step& step) {
  QueuePair* const qp = qps.Find(request.qp);
  if (qp == nullptr) return;
  qp->OnPagesReady(request.ticket, available, step);
  run_queue_.Push(*qp);
}

// Whether due timers are left to the next pass, because more packets may be waiting. Bounded,
// because a peer may send without end.
bool Engine::TimersWait() {
  constexpr uint32_t kPassesMax = 16;
  return timers_.next() <= now_ && ++timer_waits_ <= kPassesMax;
}

bool Engine::RunTimers() {
  timer_waits_ = 0;
  bool busy = false;
  transport::Step step = MakeStep();
  while (QueuePair* const qp = timers_.TakeDue(now_)) {
    if (qp->next_time() <= now_) {
      qp->OnTime(step);
      run_queue_.Push(*qp);
      if (outbox_.is_crowded()) DrainOutbox();
      busy = true;
    } else {
      timers_.Set(*qp, qp->next_time());
    }
  }
  for (Cq* const cq : moderated_) {
    if (cq->OnTime(now_)) RaiseCompletionEvent(*cq);
  }
  DrainOutbox();
  return busy;
}

// Moves queue pairs that other threads have marked into the run queue.
void Engine::DrainReady() {
  ready_.TakeAll([this](QueuePair& qp) {
    AssertHeld();
    run_queue_.Push(qp);
  });
}

bool Engine::RunReady() {
  DrainReady();
  bool busy = false;
  for (size_t runs = 0; runs < options_.runs_per_pass; ++runs) {
    if (run_queue_.empty() && !DeliverLoopback()) break;
    if (!MakeRoom(*run_queue_.front())) break;
    RunOne(*run_queue_.Pop());
    busy = true;
  }
  return busy;
}

void Engine::RunOne(QueuePair& qp) {
  if (qp.stream() != nullptr) [[unlikely]] {
    ResumeStream(qp);
  }
  transport::Step step = MakeStep();
  const bool has_more = qp.Run(step);
  if (has_more || outbox_.room() == 0) run_queue_.Push(qp);
  StagePackets();
  DrainOutbox();
  if (qp.stream() != nullptr) [[unlikely]] {
    counters_.bytes_sent += iwarp->OnRan(qp, now_);
  }
  timers_.Set(qp, qp.next_time());
}

// Makes room for everything that this queue pair can put into the outbox. False if the send buffer
// is full.
bool Engine::MakeRoom(const QueuePair& qp) {
  if (transmitter_.HasRoomFor(options_.outbox_packets, qp.number())) return true;
  DeliverLoopback();
  Transmit();
  return transmitter_.HasRoomFor(options_.outbox_packets, qp.number());
}

// True if a queue pair has work left afterwards.
bool Engine::DeliverLoopback() {
  if (loopback_.empty()) return false;
  transport::Step step = MakeStep();
  for (const fabric::ReceivedDatagram& datagram : loopback_.Receive()) {
    dispatcher_.OnLoopback(datagram, step);
    if (outbox_.is_crowded() || !outbox_.page_requests().empty()) DrainOutbox();
  }
  DrainOutbox();
  return !run_queue_.empty();
}

// REQUIRES: all packets are of one queue pair.
void Engine::StagePackets() {
  const auto packets = outbox_.packets();
  if (packets.empty()) return;
  QueuePair* const sender = qps.Find(packets.front().source_qp);
  CHECK(sender != nullptr);
  transport::Step step = MakeStep();
  const auto stage =
      [&](const transport::OutPacket& packet) -> std::optional<memory::MachineAddress> {
    AssertHeld();
    if (const auto gone = transmitter_.Stage(packet)) [[unlikely]] {
      return gone;
    }
    ++sender->traffic.packets_sent;
    sender->traffic.bytes_sent += packet.header_size + packet.payload_size;
    return std::nullopt;
  };
  const auto take_back = [&](const transport::OutPacket& packet,
                             std::optional<memory::MachineAddress> gone) {
    AssertHeld();
    // The program has unmapped the page: the tables must not mark it present any longer.
    if (gone) memory.MarkMachineAbsent(*gone, *gone);
    run_queue_.Push(*sender);
    return sender->TakeBack(packet, gone.has_value(), step);
  };
  SendInOrder(packets, stage, take_back);
}

// Handles what the state machines put into the outbox besides packets.
void Engine::DrainOutbox() {
  outbox_.PassOnPageRequests([this](const transport::PageRequest& request) {
    AssertHeld();
    return RequestPages(request);
  });
  paging.AnswerResident([this](const transport::PageRequest& request) {
    AssertHeld();
    transport::Step step = MakeStep();
    OnPages(request, true, step);
  });
  for (const transport::RaisedEvent& event : outbox_.events()) RaiseEvent(event);
  for (queue::CompletionQueue* const cq : outbox_.completion_events()) {
    RaiseCompletionEvent(static_cast<Cq&>(*cq));
  }
  for (const transport::SegmentReport& report : outbox_.segment_reports()) LearnPath(report);
  outbox_.ClearOthers();
}

// False if there is no memory for the request: a later pass repeats it.
bool Engine::RequestPages(const transport::PageRequest& request) {
  const auto asked = paging.Request(request, now_);
  if (asked != odp::Paging::Asked::kTaken) return asked == odp::Paging::Asked::kResident;
  ++counters_.page_requests;
  if (QueuePair* const qp = qps.Find(request.qp)) ++qp->traffic.page_requests;
  return true;
}

void Engine::RaiseEvent(const transport::RaisedEvent& event) {
  const Event told{.type = event.type,
                   .qp = event.qp,
                   .cq = static_cast<Cq*>(event.cq),
                   .srq = static_cast<Srq*>(event.srq)};
  if (told.cq != nullptr && std::exchange(told.cq->error_was_raised, true)) return;
  if (EventQueue* const queue = QueueFor(told)) queue->Raise(told);
}

// The event queue of the context that created the object of the event. nullptr if the queue pair is
// gone, or if no context wants events.
EventQueue* Engine::QueueFor(const Event& event) const {
  if (event.cq != nullptr) return event.cq->events();
  if (event.srq != nullptr) return event.srq->events();
  const QueuePair* const qp = qps.Find(event.qp);
  return qp != nullptr ? qp->spec().events : nullptr;
}

void Engine::RaiseCompletionEvent(Cq& cq) {
  cq.Disarmed();
  if (cq.channel() != nullptr) cq.channel()->Raise(cq);
}

void Engine::LearnPath(const transport::SegmentReport& report) {
  // Without memory for the text there is no warning; the counter still counts it.
  static_cast<void>(WhenMemory([&] {
    AssertHeld();
    if (const auto warning = transmitter_.OnSegments(report, now_)) Warn(*warning);
  }));
}

void Engine::Transmit() { is_blocked_ = !transmitter_.Flush(); }

Time Engine::next_time() const {
  Time next = std::min({timers_.next(), gsi.next_time(), next_claim_});
  for (const Cq* const cq : moderated_) next = std::min(next, cq->deadline());
  if (iwarp != nullptr) next = std::min(next, iwarp->next_time());
  if (has_work()) next = std::min(next, now_ + DurationOf(options_.work_retry));
  return next;
}

void Engine::EndStep() {
  if (trace_ != nullptr) trace_->Flush();
  if (sleepers_ > 0) alarm_.WakeBy(next_time());
}

// A pass lasts microseconds and a wake-up takes longer, so a waiting thread spins for a moment,
// unless there is only one processor. The analysis is off here and below because mutex_ implements
// the engine's own capability.
void Engine::Lock() VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // mutex_ implements the capability
  if (!mutex_.TryLock()) WaitForLock();
  Enter();
  if (!is_deferred_) return;
  if (stuck_watch_ != nullptr) stuck_watch_->Arm();
  TransmitHalf();
}

void Engine::WaitForLock() VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // as Lock
  waiters_.fetch_add(1, std::memory_order_relaxed);
  bool taken = SpinForLock();
  while (!taken) {
    const bool soon = holder_.OnTaken(clock_.Now());
    taken = mutex_.TryLockFor(soon ? LockHolder::kAgain : kLookAtHolder);
  }
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

bool Engine::SpinForLock() VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // as Lock
  const Time end = clock_.Now() + lock_spin_;
  do {
    if (mutex_.TryLock()) return true;
  } while (clock_.Now() < end);
  return false;
}

void Engine::Unlock() {
  CheckAtExit();
  EndStep();
  Leave();
  DrainReadyList();
}

// Only in builds with DCHECK, and not at every exit, because it checks all tables.
void Engine::CheckAtExit() {
#if VERBENA_DCHECK
  constexpr uint64_t kExitsLooked = 64;
  if (holder_.holds() % kExitsLooked == 0) CHECK(IsConsistent());
#endif
}

// The thread must not be cancelled in a system call of the engine while it holds the lock.
void Engine::Enter() VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // as Lock
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
  holder_.Enter();
}

void Engine::Leave() VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // as Lock
  const int before = cancel_state_;
  holder_.Leave();
  mutex_.Unlock();
  pthread_setcancelstate(before, nullptr);
}

bool Engine::TryEnter() VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // as Lock
  if (!mutex_.TryLock()) return false;
  Enter();
  return true;
}

void Engine::Kick(QueuePair& qp) {
  ready_.Mark(qp);
  DrainReadyList();
}

// A request waits for at most the next kBatch - 1 requests of its queue pair, or until the program
// polls again. If the program does not poll, the acknowledgement of an outstanding request makes
// another thread drain the ready list, or the progress thread does so within backoff_max.
void Engine::KickSmall(QueuePair& qp, queue::WqeNumber n) {
  constexpr uint64_t kOnTheWay = 8;
  constexpr uint64_t kBatch = 32;
  const auto is_busy = [&] { return n.value() - qp.send_queue().begin().value() >= kOnTheWay; };
  if (!is_busy() || n.value() % kBatch == 0) return Kick(qp);
  ready_.Mark(qp);
  // Outstanding requests may have completed meanwhile, and the thread that saw it has not seen the
  // mark.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!is_busy()) DrainReadyList();
}

void Engine::DrainReadyList() VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // TryEnter in a condition
  // Here the mark is set before the lock is tried; a holder releases the lock before it reads the
  // marks. So one of the two sees the other.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  while (!ready_.empty() && TryEnter()) {
    // A post does not wait for the page that its request needs, and the progress thread may be
    // asleep.
    if (stuck_watch_ != nullptr) stuck_watch_->Arm();
    ReadClock();
    counters_.pages_invalidated += paging.MarkGivenUpAbsent();
    NotePass();
    TransmitHalf();
    EndStep();
    Leave();
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void Engine::NotePoll(const Cq& cq, Time now) {
  if (cq.is_armed()) return;
  polled_until_ns_.store((now + DurationOf(options_.poll_recent)).nanoseconds(),
                         std::memory_order_relaxed);
}

// A poller that is about to transmit is away for longer than between two polls.
void Engine::NotePass() {
  AssertHeld();
  if (polled_until_ns_.load(std::memory_order_relaxed) < now_.nanoseconds()) return;
  polled_until_ns_.store((now_ + options_.pass_time).nanoseconds(), std::memory_order_relaxed);
}

Time Engine::Progress(const Cq& cq) VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // TryEnter behind an or
  // A thread that polls without a pause holds the lock nearly always, and would take it again
  // before a waiter has woken up. So it leaves the lock to waiters. A poll that finds the lock
  // taken is recorded, too: otherwise the progress thread, if it is the holder, would not know of
  // the poller, would continue, and would contend with it.
  if (waiters_.load(std::memory_order_relaxed) > 0 || !TryEnter()) {
    const Time now = clock_.Now();
    NotePoll(cq, now);
    holder_.OnTaken(now);
    return now;
  }
  // The previous poller left before its queue pairs ran: run them now.
  if (is_deferred_) TransmitHalf();
  const bool received = ReceiveHalf();
  NotePoll(cq, now_);
  // If the poller does not come back, the progress thread runs them at its next check or by the
  // alarm.
  is_deferred_ = kPollerGoesFirst && received;
  if (!run_queue_.empty()) NotePass();
  if (!is_deferred_) TransmitHalf();
  const Time now = now_;
  Unlock();
  return now;
}

void Engine::NoteYield(Time now) {
  yielded_until_ns_.store((now + options_.yield_recent).nanoseconds(), std::memory_order_relaxed);
}

Time Engine::Yield(Time now) {
  NoteYield(now);
  sched_yield();
  return clock_.Now();
}

Time Engine::Nap(Time now, Duration limit) {
  NoteYield(now);
  pollfd file{.fd = sockets(), .events = POLLIN, .revents = 0};
  const timespec timeout{.tv_sec = 0, .tv_nsec = limit.nanoseconds()};
  // The raw system call is no cancellation point; polling a completion queue must not be one.
  syscall(SYS_ppoll, &file, 1, &timeout, nullptr, 0);
  return clock_.Now();
}

Time Engine::SleepOnLock(Time now, Duration limit) VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // as Lock
  NoteYield(now);
  if (!holder_.is_held()) {
    sched_yield();  // a thread that waits for the lock has been woken, and has yet to run
  } else if (mutex_.TryLockFor(limit)) {
    mutex_.Unlock();
  }
  return clock_.Now();
}

}  // namespace verbena::adapter
