#pragma once

#include <atomic>
#include <cstdint>

#include "adapter/loop/engine.h"
#include "adapter/loop/spin_wait.h"
#include "adapter/objects/completion_channel.h"
#include "base/event_file.h"
#include "base/time.h"

namespace verbena::adapter {

// Threads of the program that sleep until a completion event. One that is alone makes the engine's
// progress itself: it sleeps on the sockets, so that a packet wakes it. Of several, each sleeps on
// its channel and the progress thread serves them all, because a packet would wake every one.
//
// The progress thread asks is_served() before it looks at the sockets. While a thread serves for
// longer than a moment the progress thread sleeps without a limit (Relieve), and is woken when that
// thread leaves.
//
// Owned by the adapter. Any thread: what threads share is atomic.
class EventWait {
 public:
  // `notice` wakes the thread that serves, `wake` the progress thread.
  EventWait(Engine& engine, const EventFile& notice, const EventFile& wake, Duration spin)
      : engine_(engine), notice_(notice), wake_(wake), spin_(spin) {}
  EventWait(const EventWait&) = delete;
  EventWait& operator=(const EventWait&) = delete;

  // Takes the next event of the channel; sleeps until there is one, unless the program has made the
  // channel non-blocking. nullptr and errno if there is none, nullptr without if its queue is gone.
  [[nodiscard]] Cq* Wait(CompletionChannel& channel);

  // Something was done that a pass must take up: wakes the thread that serves.
  void Notice();

  // A thread sleeps on the sockets and makes a pass when a packet comes.
  [[nodiscard]] bool is_served() const { return serves_.load(); }
  // How often a thread has begun to serve.
  [[nodiscard]] uint64_t serve_count() const {
    return serve_count_.load(std::memory_order_relaxed);
  }
  // By the progress thread, before it sleeps without a limit. False if it must not: no thread
  // serves.
  [[nodiscard]] bool Relieve();

 private:
  class Sleeper;
  class SocketSleep;

  Cq* ServeUntilEvent(CompletionChannel& channel);

  Engine& engine_;
  const EventFile& notice_;
  const EventFile& wake_;
  SpinWait spin_;  // of the thread that serves: it has set serves_, which one at a time can
  std::atomic<uint32_t> sleepers_ = 0;
  std::atomic<bool> serves_ = false;
  std::atomic<uint64_t> serve_count_ = 0;
  std::atomic<bool> is_relieved_ = false;  // the progress thread waits to be told
};

}  // namespace verbena::adapter
