#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adapter/cm/gsi.h"
#include "adapter/loop/alarm.h"
#include "adapter/loop/dispatcher.h"
#include "adapter/loop/endpoint_set.h"
#include "adapter/loop/lock_holder.h"
#include "adapter/loop/stuck_watch.h"
#include "adapter/loop/trace.h"
#include "adapter/loop/transmitter.h"
#include "adapter/objects/async_events.h"
#include "adapter/objects/completion_channel.h"
#include "adapter/objects/path_table.h"
#include "adapter/objects/qp_table.h"
#include "adapter/objects/queue_pair.h"
#include "adapter/objects/xrc_domain.h"
#include "adapter/options.h"
#include "adapter/ready_list.h"
#include "adapter/timer_heap.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/processors.h"
#include "fabric/fabric.h"
#include "fabric/loopback.h"
#include "fabric/machine_addresses.h"
#include "memory/memory_core.h"
#include "odp/locked_tables.h"
#include "odp/page_events.h"
#include "odp/page_service.h"
#include "odp/paging.h"
#include "transport/common/address_handles.h"
#include "transport/common/outbox.h"
#include "transport/common/tag_operation.h"
#include "transport/ud/multicast_groups.h"
#include "verbena/counters.h"

namespace verbena::adapter {

// What makes everything go: start reading at Pass in engine.cc.
//
// The thread that has the lock is the engine's: a poller that found nothing, a poster, the progress
// thread, or a control call. Pollers and posters do not wait for it. A poster marks its queue pair
// and tries the lock; if it is held, then by a thread that drains the ready list after it has let
// go (DrainReadyList). Either the poster finds the lock free, or the holder finds the mark: nothing
// is lost.
//
// Lock order: this one first; then those of queues, channels and the pager, which take no other.
//
// Owned by the adapter. Thread rule: any thread calls Kick and Progress; all else is under the
// lock.
class VERBENA_CAPABILITY("engine") Engine final : public odp::LockedTables {
 public:
  Engine(const AdapterOptions& options, std::unique_ptr<fabric::Fabric> fabric, Alarm alarm,
         AsyncEvents& events, odp::PageService& pages, const Clock& clock,
         fabric::MachineAddresses& addresses, std::unique_ptr<Trace> trace = nullptr,
         odp::PageEvents* page_events = nullptr);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- Any thread. ---

  // A request was posted to `qp`: sends what follows from it, now or on the thread that has the
  // lock.
  void Kick(QueuePair& qp) VERBENA_EXCLUDES(this);

  // The same for the small request that has just been posted as number `n`, by a thread that polls.
  // If others of the queue pair are on the way, it waits for the next poll, so that several leave
  // in one system call; see docs/threading.md.
  void KickSmall(QueuePair& qp, queue::WqeNumber n) VERBENA_EXCLUDES(this);

  // A poller found `cq` empty. One pass, unless another thread makes one. The time.
  Time Progress(const Cq& cq) VERBENA_EXCLUDES(this);
  // A poller gives its processor to others for a moment, and comes back. The time then.
  Time Yield(Time now) VERBENA_EXCLUDES(this);
  // The same, until a packet comes.
  Time Nap(Time now, Duration limit) VERBENA_EXCLUDES(this);

  // Until when the last poller is expected back, unless it said that it is about to sleep.
  [[nodiscard]] Time polled_until() const { return Time(Nanoseconds(polled_until_ns_.load())); }
  // Until when a poller is expected back that has yielded its processor.
  [[nodiscard]] Time yielded_until() const { return Time(Nanoseconds(yielded_until_ns_.load())); }
  void ClearYield() { yielded_until_ns_.store(0, std::memory_order_relaxed); }
  // The program is about to sleep: no thread polls.
  void ClearPolls() {
    polled_until_ns_.store(0);
    yielded_until_ns_.store(0);
  }

  // Waits for it, and does what a poller was spared.
  void Lock() VERBENA_ACQUIRE() override;
  void Unlock() VERBENA_RELEASE() override;

  // Says that the caller has the lock where the analysis cannot know: in functions that are handed
  // to others. Test builds look.
  void AssertHeld() const VERBENA_ASSERT_HELD(this) override {
    DCHECK(holder_.is_held_by_caller());
  }

  // --- Under the lock. ---

  // What the tables say of each other. Looks at all of them: for tests, where each so many-th
  // release of the lock asks.
  [[nodiscard]] bool IsConsistent() const VERBENA_REQUIRES(this);

  // One pass over all that may have happened. True if something had.
  bool Pass() VERBENA_REQUIRES(this);
  // Work is left for another pass.
  [[nodiscard]] bool has_work() const VERBENA_REQUIRES(this) {
    return !run_queue_.empty() || !loopback_.empty() || is_blocked_ || paging.has_ready() ||
           !outbox_.page_requests().empty() || gsi.has_datagrams();
  }
  // Sets the time of what follows. Key slots whose quarantine has ended are free from then on.
  void ReadClock() VERBENA_REQUIRES(this);
  // The time that was read last.
  [[nodiscard]] Time now() const VERBENA_REQUIRES(this) { return now_; }
  // When to make one, if nothing else happens.
  [[nodiscard]] Time next_time() const VERBENA_REQUIRES(this);

  // The same for a thread that expects an event of this channel: ends early if there is one.
  bool PassFor(const ExpectedEvent& channel) VERBENA_REQUIRES(this);

  // While a thread sleeps on the sockets the alarm is kept set.
  void AddSleeper() VERBENA_REQUIRES(this) { ++sleepers_; }
  void RemoveSleeper() VERBENA_REQUIRES(this) {
    CHECK(sleepers_ > 0);
    --sleepers_;
  }
  [[nodiscard]] Alarm& alarm() { return alarm_; }
  // Readable when there is something to receive. Another file after AddEndpoint. Any thread.
  [[nodiscard]] int sockets() const { return sockets_.load(std::memory_order_relaxed); }
  // Readable when the machine's addresses may have changed; -1 where the system does not report it.
  [[nodiscard]] int address_fd() const { return addresses_.fd(); }
  void LookAtAddresses() VERBENA_REQUIRES(this);
  // Readable when other processes have handed on management datagrams; -1 while none can. Any
  // thread.
  [[nodiscard]] int mailbox_fd() const { return mailbox_fd_.load(std::memory_order_relaxed); }
  // After calls that may have opened it.
  void UpdateMailbox() VERBENA_REQUIRES(this) {
    mailbox_fd_.store(gsi.mailbox_fd(), std::memory_order_relaxed);
  }

  // REQUIRES: its number is the table's next.
  QueuePair& AddQp(std::unique_ptr<QueuePair> qp) VERBENA_REQUIRES(this);
  // Runs it once more. What is left of its work ends without completions.
  void RemoveQp(QueuePair& qp) VERBENA_REQUIRES(this);
  // See QueuePair.
  void ModifyQp(QueuePair& qp, const transport::QpSettings& attributes,
                transport::AttributeMask mask) VERBENA_REQUIRES(this);
  // An extended one leaves its domain; a message to it that is under way fails.
  void RemoveReceiver(XrcDomain& domain, const Srq& srq) VERBENA_REQUIRES(this);
  // REQUIRES: it matches tags.
  [[nodiscard]] Result<TagHandle, queue::TagMatcher::AddError> ChangeTags(
      Srq& srq, const TagOperation& operation) VERBENA_REQUIRES(this);
  // So that the change needs no memory.
  void MakeRoomForModeration() VERBENA_REQUIRES(this) { moderated_.reserve(moderated_.size() + 1); }
  // After a change of its moderation, and before it is destroyed.
  void UpdateModeration(Cq& cq) VERBENA_REQUIRES(this);
  void RemoveCq(Cq& cq) VERBENA_REQUIRES(this);

  // The endpoint that this process has from the beginning. Any thread may ask for it.
  const fabric::Fabric& fabric() const VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // never another one
    return endpoints_.first();
  }
  EndpointSet& endpoints() VERBENA_REQUIRES(this) { return endpoints_; }
  // Another one, with numbers for queue pairs. The fd() of the endpoints is another one then.
  [[nodiscard]] ErrorOr<void> AddEndpoint(std::unique_ptr<fabric::Fabric> fabric)
      VERBENA_REQUIRES(this);
  // In strict mode: more numbers at the same endpoint, those that another one would have.
  void AddNumbers() VERBENA_REQUIRES(this);
  const PortCounters& counters() const VERBENA_REQUIRES(this) { return counters_; }
  // What the user should know, a line each; told once.
  std::vector<std::string> TakeWarnings() VERBENA_REQUIRES(this);

  // What calls of the connection manager want to be sent leaves, as far as there is room.
  void SendMads() VERBENA_REQUIRES(this);
  // Reads what other processes have handed on to this one.
  void ReadMailbox() VERBENA_REQUIRES(this);
  // Opens endpoint 0 if no process has it, which requests of other machines come to; nullptr if
  // one has. Set before the first listener.
  using ClaimRocePort = std::function<std::unique_ptr<fabric::Fabric>()>;
  void set_claim_roce_port(ClaimRocePort claim, std::function<void()> on_claimed)
      VERBENA_REQUIRES(this) {
    claim_roce_port_ = std::move(claim);
    on_claimed_ = std::move(on_claimed);
  }
  // Has requests for listeners of this process arrive, now and when the process with the RoCEv2
  // port ends.
  void EnsureRocePort() VERBENA_REQUIRES(this);

  // For a watch over the thread that has the lock, which passes arm. Set before the first pass.
  [[nodiscard]] LockHolder& holder() { return holder_; }
  void set_stuck_watch(StuckWatch* watch) { stuck_watch_ = watch; }

  // The tables, guarded like the rest; public because control calls change them. So is `memory`.
  QpTable<QueuePair> qps VERBENA_GUARDED_BY(this);
  PathTable paths VERBENA_GUARDED_BY(this);
  transport::AddressHandles handles VERBENA_GUARDED_BY(this);
  transport::MulticastGroups groups VERBENA_GUARDED_BY(this);
  Gsi gsi VERBENA_GUARDED_BY(this);
  // What of it needs the lock, and what takes it, is said there.
  odp::Paging paging;

 private:
  // The halves of a pass, their steps, and what they share.
  bool Listen() VERBENA_REQUIRES(this);
  bool Act() VERBENA_REQUIRES(this);
  bool Receive() VERBENA_REQUIRES(this);
  bool TakePages() VERBENA_REQUIRES(this);
  bool TimersWait() VERBENA_REQUIRES(this);
  bool RunTimers() VERBENA_REQUIRES(this);
  void DrainReady() VERBENA_REQUIRES(this);
  bool RunReady() VERBENA_REQUIRES(this);
  void Transmit() VERBENA_REQUIRES(this);
  bool RunGsi() VERBENA_REQUIRES(this);

  bool MakeRoom(const QueuePair& qp) VERBENA_REQUIRES(this);
  bool DeliverLoopback() VERBENA_REQUIRES(this);
  void RunOne(QueuePair& qp) VERBENA_REQUIRES(this);
  void StagePackets() VERBENA_REQUIRES(this);
  void DrainOutbox() VERBENA_REQUIRES(this);
  bool RequestPages(const transport::PageRequest& request) VERBENA_REQUIRES(this);
  void OnPages(const transport::PageRequest& request, bool available, transport::Step& step)
      VERBENA_REQUIRES(this);
  void RaiseEvent(const transport::RaisedEvent& event) VERBENA_REQUIRES(this);
  EventQueue* QueueFor(const Event& event) const VERBENA_REQUIRES(this);
  void RaiseCompletionEvent(Cq& cq) VERBENA_REQUIRES(this);
  void LearnPath(const transport::SegmentReport& report) VERBENA_REQUIRES(this);
  void NotePoll(const Cq& cq, Time now);
  void NotePass();
  void NoteYield(Time now);
  void WaitForLock();
  bool SpinForLock();
  bool TryEnter() VERBENA_TRY_ACQUIRE(true);
  void Enter();
  void Leave();
  void CheckAtExit() VERBENA_REQUIRES(this);
  void EndStep() VERBENA_REQUIRES(this);
  void DrainReadyList() VERBENA_EXCLUDES(this);
  void Warn(const std::string& warning) VERBENA_REQUIRES(this);
  transport::Step MakeStep() VERBENA_REQUIRES(this) {
    return {now_,
            memory,
            outbox_,
            paging.wait(),
            transmitter_.segments_in_doubt(),
            &counters_.refusals};
  }

  const AdapterOptions options_;
  EndpointSet endpoints_ VERBENA_GUARDED_BY(this);
  const std::unique_ptr<Trace> trace_;  // nullptr: none
  AsyncEvents& events_;
  const Clock& clock_;
  fabric::MachineAddresses& addresses_;

  const Duration lock_spin_ = AllowedProcessors() > 1 ? Microseconds(20) : Duration();
  Mutex mutex_;
  LockHolder holder_;
  StuckWatch* stuck_watch_ = nullptr;  // nullptr: none
  ReadyList<QueuePair> ready_;         // marked by any thread
  std::atomic<int64_t> polled_until_ns_ = 0;
  std::atomic<int64_t> yielded_until_ns_ = 0;
  std::atomic<int> sockets_;
  std::atomic<int> mailbox_fd_ = -1;
  std::atomic<uint32_t> waiters_ = 0;  // for the lock; pollers let them pass

  Time now_ VERBENA_GUARDED_BY(this);
  transport::Outbox outbox_ VERBENA_GUARDED_BY(this);
  fabric::Loopback loopback_ VERBENA_GUARDED_BY(this);
  PortCounters counters_ VERBENA_GUARDED_BY(this);
  RunQueue<QueuePair> run_queue_ VERBENA_GUARDED_BY(this);
  TimerHeap<QueuePair> timers_ VERBENA_GUARDED_BY(this);
  std::vector<Cq*> moderated_ VERBENA_GUARDED_BY(this);
  Alarm alarm_;
  uint32_t timer_waits_ VERBENA_GUARDED_BY(this) = 0;  // passes since timers were due
  uint32_t sleepers_ VERBENA_GUARDED_BY(this) = 0;     // threads that sleep on the sockets
  int cancel_state_ VERBENA_GUARDED_BY(this) = 0;      // of the thread that has the lock, before
  Psn mad_psn_ VERBENA_GUARDED_BY(this);
  Time next_claim_ VERBENA_GUARDED_BY(this) = Time::Never();  // of the RoCEv2 port
  ClaimRocePort claim_roce_port_ VERBENA_GUARDED_BY(this);
  std::function<void()> on_claimed_ VERBENA_GUARDED_BY(this);
  bool is_blocked_ VERBENA_GUARDED_BY(this) = false;  // the socket takes no more
  bool is_deferred_ VERBENA_GUARDED_BY(this) =
      false;  // the last poller was let go before its queue pairs ran
  std::vector<std::string> warnings_ VERBENA_GUARDED_BY(this);  // not told yet
  Transmitter transmitter_ VERBENA_GUARDED_BY(this);
  Dispatcher dispatcher_ VERBENA_GUARDED_BY(this);
};

// Holds the engine's lock from its construction to its destruction.
class VERBENA_SCOPED_CAPABILITY EngineLock {
 public:
  [[nodiscard]] explicit EngineLock(Engine& engine) VERBENA_ACQUIRE(engine) : engine_(engine) {
    engine_.Lock();
  }
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;
  ~EngineLock() VERBENA_RELEASE() { engine_.Unlock(); }

 private:
  Engine& engine_;
};

}  // namespace verbena::adapter
