#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "adapter/engine.h"
#include "adapter/event_file.h"
#include "adapter/options.h"
#include "base/time.h"

namespace verbena::adapter {

// The thread that serves an adapter while nobody polls: timers, one-sided requests of peers, and
// programs that sleep until an event. docs/threading.md has its states and their figures.
//
//   attentive   asleep until a packet, a deadline or a wake-up; costs nothing while nothing happens
//   away        somebody polls: it does not look at the socket, so no packet wakes it, but comes
//   back
//               after a while to see whether that is still so
//
// Owned by the adapter, which outlives it. Any thread.
class Keeper {
 public:
  // `wake` rouses it in either state.
  Keeper(Engine& engine, const EventFile& wake, const Options& options);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper() { Stop(); }
  void Stop();

  // A program is about to sleep until an event: polls of the past do not count.
  void BeAttentive();

  // Something was done that a pass must take up. While it is away a poller takes it up, or it does
  // so itself when it looks; so it is told only if it sleeps without a limit.
  void Notice();

  // How often it has woken, since the start.
  [[nodiscard]] uint64_t wake_ups() const { return wake_ups_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_away() const { return is_away_.load(); }

 private:
  enum class Roused : uint8_t { kByPacket, kOtherwise };

  void Work();
  Roused SleepAttentive();
  void StayAway(Duration duration);
  // True if there was something to do.
  bool Serve();
  bool SomebodyPolls() const;
  // True if somebody polls once he has a processor.
  bool GiveWay();
  void FinishWork();

  Engine& engine_;
  const EventFile& wake_;
  const Duration poller_waits_, away_min_, away_max_, linger_;
  uint32_t in_vain_ = 0;  // of the last times that it gave way: doubles, and halves
  uint32_t skips_ = 0;    // times left at which it does not
  std::atomic<bool> stops_ = false;
  std::atomic<bool> is_away_ = false;
  std::atomic<uint64_t> wake_ups_ = 0;
  std::thread thread_;
};

}  // namespace verbena::adapter
