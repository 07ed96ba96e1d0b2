#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapter/cm/gsi.h"
#include "adapter/cm/iwarp_cm.h"
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
#include "base/page_events.h"
#include "base/processors.h"
#include "fabric/fabric.h"
#include "fabric/loopback.h"
#include "fabric/machine_addresses.h"
#include "memory/memory_core.h"
#include "odp/locked_tables.h"
#include "odp/page_service.h"
#include "odp/paging.h"
#include "transport/common/address_handles.h"
#include "transport/common/outbox.h"
#include "transport/common/tag_operation.h"
#include "transport/ud/multicast_groups.h"
#include "verbena/counters.h"

namespace verbena::adapter {

// Runs everything: start reading at Pass in engine.cc.
//
// The thread that holds the lock runs the engine: a poller that found nothing, a poster, the
// progress thread, or a control call. Pollers and posters do not wait for the lock. A poster marks
// its queue pair and tries the lock. If the lock is held, the holder drains the ready list after
// the release (DrainReadyList). Either the poster finds the lock free, or the holder finds the
// mark: no request is lost.
//
// Lock order: this lock first; then those of queues, channels and the pager, which take no other.
//
// Owned by the adapter. Thread rule: any thread calls Kick and Progress; everything else is under
// the lock.
class VERBENA_CAPABILITY("engine") Engine final : public odp::LockedTables {
 public:
  Engine(const AdapterOptions& options, std::unique_ptr<fabric::Fabric> fabric, Alarm alarm,
         AsyncEvents& events, odp::PageService& pages, const Clock& clock,
         fabric::MachineAddresses& addresses, std::unique_ptr<Trace> trace = nullptr,
         PageEvents* page_events = nullptr);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- Any thread. ---

  // A request was posted to `qp`: processes it now, or leaves it to the thread that holds the lock.
  void Kick(QueuePair& qp) VERBENA_EXCLUDES(this);

  // The same for a small request that was posted as number `n` by a thread that polls. If the queue
  // pair has outstanding requests, the request waits for the next poll, so that several leave in
  // one system call; see docs/threading.md.
  void KickSmall(QueuePair& qp, queue::WqeNumber n) VERBENA_EXCLUDES(this);

  // A poller found `cq` empty: makes one pass, unless another thread is in a pass. Returns the
  // time.
  Time Progress(const Cq& cq) VERBENA_EXCLUDES(this);
  // Yields the processor of a poller. Returns the time after that.
  Time Yield(Time now) VERBENA_EXCLUDES(this);
  // The same, but sleeps until a packet arrives, for `limit` at most.
  Time Nap(Time now, Duration limit) VERBENA_EXCLUDES(this);
  // Another thread holds the lock or is about to take it: a number of that hold.
  [[nodiscard]] std::optional<uint64_t> OtherHold() const {
    const bool is_taken = holder_.is_held() || waiters_.load(std::memory_order_relaxed) > 0;
    return is_taken ? std::optional(holder_.holds()) : std::nullopt;
  }
  // Sleeps until the lock is free, for `limit` at most. Returns the time after that.
  Time SleepOnLock(Time now, Duration limit) VERBENA_EXCLUDES(this);

  // When the last poller is expected back at the latest; reset when the program is about to sleep.
  [[nodiscard]] Time polled_until() const { return Time(Nanoseconds(polled_until_ns_.load())); }
  // The same for a poller that has yielded its processor.
  [[nodiscard]] Time yielded_until() const { return Time(Nanoseconds(yielded_until_ns_.load())); }
  void ClearYield() { yielded_until_ns_.store(0, std::memory_order_relaxed); }
  // The program is about to sleep: forgets recent polls.
  void ClearPolls() {
    polled_until_ns_.store(0);
    yielded_until_ns_.store(0);
  }

  // Blocks until it has the lock; then does the work that a poller left.
  void Lock() VERBENA_ACQUIRE() override;
  void Unlock() VERBENA_RELEASE() override;

  // Asserts the lock to the analysis where it cannot be inferred: in functions that are passed to
  // others. Debug builds check it.
  void AssertHeld() const VERBENA_ASSERT_HELD(this) override {
    DCHECK(holder_.is_held_by_caller());
  }

  // --- Under the lock. ---

  // Checks all tables against each other: slow, for tests and for every so many-th release of the
  // lock in debug builds.
  [[nodiscard]] bool IsConsistent() const VERBENA_REQUIRES(this);

  // Runs one pass. True if there was work.
  bool Pass() VERBENA_REQUIRES(this);
  // Work is left for another pass.
  [[nodiscard]] bool has_work() const VERBENA_REQUIRES(this) {
    return !run_queue_.empty() || !loopback_.empty() || is_blocked_ || paging.has_ready() ||
           !outbox_.page_requests().empty() || gsi.has_datagrams();
  }
  // Sets the time of the following work. Key slots whose quarantine has ended become free.
  void ReadClock() VERBENA_REQUIRES(this);
  // The time of the last ReadClock.
  [[nodiscard]] Time now() const VERBENA_REQUIRES(this) { return now_; }
  // When the next pass is due, if nothing else happens before.
  [[nodiscard]] Time next_time() const VERBENA_REQUIRES(this);

  // The same for a thread that expects an event of this channel: ends early once the event is
  // there.
  bool PassFor(const ExpectedEvent& channel) VERBENA_REQUIRES(this);

  // While a thread sleeps on the sockets, every pass sets the alarm.
  void AddSleeper() VERBENA_REQUIRES(this) { ++sleepers_; }
  void RemoveSleeper() VERBENA_REQUIRES(this) {
    CHECK(sleepers_ > 0);
    --sleepers_;
  }
  [[nodiscard]] Alarm& alarm() { return alarm_; }
  // Readable when there is something to receive. Changes with AddEndpoint. Any thread.
  [[nodiscard]] int sockets() const { return sockets_.load(std::memory_order_relaxed); }
  // Readable when the machine's addresses may have changed; -1 where the system does not report it.
  [[nodiscard]] int address_fd() const { return addresses_.fd(); }
  void LookAtAddresses() VERBENA_REQUIRES(this);
  // Readable when other processes have forwarded management datagrams; -1 while there is no
  // mailbox. Any thread.
  [[nodiscard]] int mailbox_fd() const { return mailbox_fd_.load(std::memory_order_relaxed); }
  // Publishes mailbox_fd after a call that may have opened the mailbox.
  void UpdateMailbox() VERBENA_REQUIRES(this) {
    mailbox_fd_.store(gsi.mailbox_fd(), std::memory_order_relaxed);
  }

  // REQUIRES: `qp` has the next number of the table.
  QueuePair& AddQp(std::unique_ptr<QueuePair> qp) VERBENA_REQUIRES(this);
  // Runs it once more and removes it. Its remaining work ends without completions.
  void RemoveQp(QueuePair& qp) VERBENA_REQUIRES(this);
  // See QueuePair.
  void ModifyQp(QueuePair& qp, const transport::QpSettings& attributes,
                transport::AttributeMask mask) VERBENA_REQUIRES(this);
  // Removes an XRC SRQ from its domain; a message that is being received into it fails.
  void RemoveReceiver(XrcDomain& domain, const Srq& srq) VERBENA_REQUIRES(this);
  // REQUIRES: the SRQ matches tags.
  [[nodiscard]] Result<TagHandle, queue::TagMatcher::AddError> ChangeTags(
      Srq& srq, const TagOperation& operation) VERBENA_REQUIRES(this);
  // Reserves the memory that UpdateModeration needs.
  void MakeRoomForModeration() VERBENA_REQUIRES(this) { moderated_.reserve(moderated_.size() + 1); }
  // Called after a change of the moderation of `cq`, and before `cq` is destroyed.
  void UpdateModeration(Cq& cq) VERBENA_REQUIRES(this);
  void RemoveCq(Cq& cq) VERBENA_REQUIRES(this);

  // The first endpoint of this process. Any thread.
  const fabric::Fabric& fabric() const VERBENA_NO_THREAD_SAFETY_ANALYSIS {  // never replaced
    return endpoints_.first();
  }
  EndpointSet& endpoints() VERBENA_REQUIRES(this) { return endpoints_; }
  // Adds an endpoint, with its QP numbers. Changes the fd() of the endpoints.
  [[nodiscard]] ErrorOr<void> AddEndpoint(std::unique_ptr<fabric::Fabric> fabric)
      VERBENA_REQUIRES(this);
  // In strict mode: adds the QP numbers of another endpoint to the first one.
  void AddNumbers() VERBENA_REQUIRES(this);
  const PortCounters& counters() const VERBENA_REQUIRES(this) { return counters_; }
  // Warnings for the user, one line each; each is returned once.
  std::vector<std::string> TakeWarnings() VERBENA_REQUIRES(this);

  // Sends the datagrams that calls of the connection manager have queued, as far as there is room.
  void SendMads() VERBENA_REQUIRES(this);
  // Reads the management datagrams that other processes have forwarded to this one.
  void ReadMailbox() VERBENA_REQUIRES(this);
  // Opens endpoint 0, where requests of other machines arrive; nullptr if another process has it.
  // Set before the first listener.
  using ClaimRocePort = std::function<std::unique_ptr<fabric::Fabric>()>;
  void set_claim_roce_port(ClaimRocePort claim, std::function<void()> on_claimed)
      VERBENA_REQUIRES(this) {
    claim_roce_port_ = std::move(claim);
    on_claimed_ = std::move(on_claimed);
  }
  // Makes requests for listeners of this process arrive, also after the process that has the RoCEv2
  // port ends.
  void EnsureRocePort() VERBENA_REQUIRES(this);

  // Makes the adapter speak iWARP. Called before the first pass.
  void StartIwarp(StreamFiles files) VERBENA_REQUIRES(this);
  // Waits, for a second at most, until the system has taken what streams have to send: the last
  // messages before a program ends.
  void FlushStreams() VERBENA_REQUIRES(this);

  // For StuckWatch, which passes arm. Set before the first pass.
  [[nodiscard]] LockHolder& holder() { return holder_; }
  void set_stuck_watch(StuckWatch* watch) { stuck_watch_ = watch; }

  // The tables, under the lock; public because control calls change them. So is `memory`.
  QpTable<QueuePair> qps VERBENA_GUARDED_BY(this);
  PathTable paths VERBENA_GUARDED_BY(this);
  transport::AddressHandles handles VERBENA_GUARDED_BY(this);
  transport::MulticastGroups groups VERBENA_GUARDED_BY(this);
  Gsi gsi VERBENA_GUARDED_BY(this);
  std::unique_ptr<IwarpCm> iwarp VERBENA_GUARDED_BY(this);  // nullptr: RoCE
  // Its header says which functions need the lock and which take it.
  odp::Paging paging;

 private:
  // The two halves of a pass and their steps.
  bool ReceiveHalf() VERBENA_REQUIRES(this);
  bool TransmitHalf() VERBENA_REQUIRES(this);
  bool Receive() VERBENA_REQUIRES(this);
  bool ReceiveStreams() VERBENA_REQUIRES(this);
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
  void Deliver(IwarpStream& stream) VERBENA_REQUIRES(this);
  void WaitForStreams() VERBENA_REQUIRES(this);
  void ResumeStream(QueuePair& qp) VERBENA_REQUIRES(this);
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
  ReadyList<QueuePair> ready_;         // any thread marks
  std::atomic<int64_t> polled_until_ns_ = 0;
  std::atomic<int64_t> yielded_until_ns_ = 0;
  std::atomic<int> sockets_;
  std::atomic<int> mailbox_fd_ = -1;
  std::atomic<uint32_t> waiters_ = 0;  // threads that wait for the lock; pollers let them pass

  Time now_ VERBENA_GUARDED_BY(this);
  transport::Outbox outbox_ VERBENA_GUARDED_BY(this);
  fabric::Loopback loopback_ VERBENA_GUARDED_BY(this);
  PortCounters counters_ VERBENA_GUARDED_BY(this);
  RunQueue<QueuePair> run_queue_ VERBENA_GUARDED_BY(this);
  TimerHeap<QueuePair> timers_ VERBENA_GUARDED_BY(this);
  std::vector<Cq*> moderated_ VERBENA_GUARDED_BY(this);
  Alarm alarm_;
  uint32_t timer_waits_ VERBENA_GUARDED_BY(this) = 0;  // passes for which due timers have waited
  uint32_t sleepers_ VERBENA_GUARDED_BY(this) = 0;     // threads that sleep on the sockets
  int cancel_state_ VERBENA_GUARDED_BY(this) = 0;  // of the lock's holder, before it took the lock
  Psn mad_psn_ VERBENA_GUARDED_BY(this);
  Time next_claim_ VERBENA_GUARDED_BY(this) = Time::Never();  // of the RoCEv2 port
  ClaimRocePort claim_roce_port_ VERBENA_GUARDED_BY(this);
  std::function<void()> on_claimed_ VERBENA_GUARDED_BY(this);
  bool is_blocked_ VERBENA_GUARDED_BY(this) = false;  // the send buffer is full
  bool is_deferred_ VERBENA_GUARDED_BY(this) =
      false;  // the last poller returned before its queue pairs ran
  std::vector<std::string> warnings_ VERBENA_GUARDED_BY(this);  // not returned yet
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
