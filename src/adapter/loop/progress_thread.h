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

// The thread that serves an adapter while no thread polls: timers, one-sided requests of peers, and
// programs that sleep until an event. docs/threading.md has its states and their figures.
//
//   attentive   asleep until a packet, a deadline or a wake-up; costs nothing while nothing happens
//   away        a thread of the program polls or waits for an event: no packet wakes this one, but
//               it comes back after a while to see whether that is still so
//   relieved    away, while one thread waits for an event and has done so for longer than that:
//               asleep until that thread leaves
//
// Owned by the adapter, which outlives it. Any thread.
class ProgressThread {
 public:
  // `wake` rouses it in either state.
  ProgressThread(Engine& engine, EventWait& waits, const EventFile& wake, const Options& options);
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ~ProgressThread() { Stop(); }
  void Stop();

  // A program is about to sleep until an event: polls of the past do not count.
  void Arm();

  // Something was done that a pass must take up. While it is away a poller takes it up, or it does
  // so itself when it looks; so it is told only if it sleeps without a limit.
  void Notice();

  // How often it has woken, since the start.
  [[nodiscard]] uint64_t wake_ups() const { return wake_ups_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_backed_off() const { return is_backed_off_.load(); }

 private:
  enum class WakeReason : uint8_t { kByPacket, kByOldPacket, kOtherwise };

  void Work();
  WakeReason SleepArmed(bool was_backed_off);
  void BackOff(Duration duration);
  // True if there was something to do.
  bool Serve();
  // A thread of the program makes progress, and will go on: it waits for an event, or polls without
  // a pause.
  bool IsPolled() const;
  // The same, or one has polled just now.
  bool IsServed() const;
  // That one has slept since the last look.
  bool IsRelieved();
  void FinishWork();

  Engine& engine_;
  EventWait& waits_;
  const EventFile& wake_;
  const Duration backoff_min_, backoff_max_;
  SpinWait spin_;
  // Grows when packets had to wait for this thread although the program polls now and then, and
  // falls when the program was quicker: while it is not 0, polls do not keep it away.
  uint32_t needed_ = 0;
  uint64_t seen_serve_count_ = 0;  // of waits_, at the last look
  std::atomic<bool> stops_ = false;
  std::atomic<bool> is_backed_off_ = false;
  std::atomic<uint64_t> wake_ups_ = 0;
  std::thread thread_;
};

}  // namespace verbena::adapter
