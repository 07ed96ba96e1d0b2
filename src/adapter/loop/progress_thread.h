#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "adapter/loop/engine.h"
#include "adapter/loop/event_wait.h"
#include "adapter/loop/spin_wait.h"
#include "adapter/options.h"
#include "base/event_file.h"
#include "base/time.h"

namespace verbena::adapter {

// The thread that runs the engine while no thread of the program polls: for timers, for one-sided
// requests of peers, and for programs that sleep until an event. docs/threading.md has figures.
//
//   armed        sleeps until a packet, a deadline or a wake-up; costs nothing in the meantime
//   backed off   a thread of the program polls or waits for an event: no packet wakes up the
//                progress thread, but it checks after a while whether that is still so
//   relieved     backed off, and a waiter has served the engine since the last check: sleeps until
//                the waiter leaves
//
// Owned by the adapter, which outlives it. Any thread calls its public functions.
class ProgressThread {
 public:
  // `wake` wakes up the thread in every state.
  ProgressThread(Engine& engine, EventWait& waits, const EventFile& wake,
                 const AdapterOptions& options);
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ~ProgressThread() { Stop(); }
  void Stop();

  // The program is about to sleep until an event. Discards the record of past polls, and wakes up
  // the thread if it has backed off.
  void Arm();

  // There is new work for a pass. Wakes up the thread only if it is armed. If it has backed off, a
  // poller or the serving waiter does the work, or the thread itself at its next check.
  void Notice();

  // How often the thread has woken up since its start.
  [[nodiscard]] uint64_t wake_ups() const { return wake_ups_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_backed_off() const { return is_backed_off_.load(); }

 private:
  enum class WakeReason : uint8_t { kByPacket, kByOldPacket, kOtherwise };

  void Work();
  WakeReason SleepArmed(bool was_backed_off);
  void BackOff(Duration duration);
  // True if there was work.
  bool Serve();
  void EnsureGuarded();
  // A thread of the program makes the progress and will go on: it waits for an event, or has
  // yielded between two polls.
  bool IsPolled() const;
  // The same, or a thread has polled recently.
  bool IsServed() const;
  // A thread has polled since the last call, and the program has not armed a queue since.
  bool HasPolledSinceCheck();
  // The same waiter has served since the last call, so this thread can sleep until it leaves.
  bool IsRelieved();
  void FinishWork();

  Engine& engine_;
  EventWait& waits_;
  const EventFile& wake_;
  const Duration backoff_min_, backoff_max_;
  SpinWait spin_;
  // Grows when packets had to wait for this thread although the program polls now and then, and
  // falls when the program took them first. While it is not 0, polls do not make the thread back
  // off.
  uint32_t needed_ = 0;
  Time guarded_until_;             // when the handlers are checked again
  Time seen_polled_until_;         // engine_.polled_until() at the last HasPolledSinceCheck
  uint64_t seen_serve_count_ = 0;  // waits_.serve_count() at the last IsRelieved
  std::atomic<bool> stops_ = false;
  std::atomic<bool> is_backed_off_ = false;
  std::atomic<uint64_t> wake_ups_ = 0;
  std::thread thread_;
};

}  // namespace verbena::adapter
