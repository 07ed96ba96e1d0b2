#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "adapter/loop/engine.h"
#include "adapter/loop/spin_wait.h"
#include "adapter/objects/cm_event_queue.h"
#include "adapter/objects/completion_channel.h"
#include "base/event_file.h"
#include "base/time.h"

namespace verbena::adapter {

// The waiters: threads of the program that sleep until a completion event. A single waiter serves
// the engine itself: it sleeps on the sockets, so that a packet wakes it up, and makes the passes.
// A packet would wake up all of several waiters, so further ones sleep on their channels, and the
// progress thread serves them when the first one has left.
//
// The progress thread checks is_served() before it reads the sockets. While a waiter serves for
// long, the progress thread sleeps without a limit (Relieve); the waiter wakes it up when it
// leaves.
//
// Owned by the adapter. Any thread: what threads share is atomic.
class EventWait {
 public:
  // `notice` wakes up the serving waiter, `wake` the progress thread.
  EventWait(Engine& engine, const EventFile& notice, const EventFile& wake, Duration spin)
      : engine_(engine), notice_(notice), wake_(wake), spin_(spin) {}
  EventWait(const EventWait&) = delete;
  EventWait& operator=(const EventWait&) = delete;

  // Takes the next event of the channel. Sleeps until there is one, unless the program has made the
  // channel non-blocking. Returns nullptr with errno set if there is none, and nullptr without
  // errno if the event's completion queue is gone.
  [[nodiscard]] Cq* Wait(CompletionChannel& channel);
  // The same for events of the connection manager.
  [[nodiscard]] std::optional<CmEvent> Wait(CmEventQueue& queue);

  // There is new work for a pass: wakes up the serving waiter, if any.
  void Notice();

  // A waiter sleeps on the sockets and makes a pass when a packet comes.
  [[nodiscard]] bool is_served() const { return serves_.load(); }
  // How often a waiter has begun to serve.
  [[nodiscard]] uint64_t serve_count() const {
    return serve_count_.load(std::memory_order_relaxed);
  }
  // The progress thread calls this before it sleeps without a limit. False if it must not do so,
  // because no waiter serves.
  [[nodiscard]] bool Relieve();

 private:
  class Sleeper;
  template <class Channel>
  class SocketSleep;

  // Returns what Channel::Wait does.
  template <class Channel>
  auto WaitFor(Channel& channel) -> decltype(channel.Wait());
  template <class Channel>
  auto ServeUntilEvent(Channel& channel) -> decltype(channel.Wait());

  Engine& engine_;
  const EventFile& notice_;
  const EventFile& wake_;
  SpinWait spin_;  // used by the serving waiter only: the one that has set serves_
  std::atomic<uint32_t> sleepers_ = 0;
  std::atomic<bool> serves_ = false;
  std::atomic<uint64_t> serve_count_ = 0;
  std::atomic<bool> is_relieved_ = false;  // the progress thread sleeps until wake_ is signaled
};

}  // namespace verbena::adapter
