#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "ibverbs/objects/event_acks.h"

namespace verbena::rdmacm {

// Counts the events of an id that rdma_get_cm_event returned, and those that the program has
// acknowledged. Destroying the id waits until the two are equal, because a thread with an
// unacknowledged event has a pointer to the id.
//
// Thread rule: any thread.
class EventCount {
 public:
  EventCount() {
    pthread_mutex_init(&mutex_, nullptr);
    pthread_cond_init(&changed_, nullptr);
  }
  EventCount(const EventCount&) = delete;
  EventCount& operator=(const EventCount&) = delete;
  ~EventCount() {
    pthread_cond_destroy(&changed_);
    pthread_mutex_destroy(&mutex_);
  }

  void Report() { reported_.fetch_add(1, std::memory_order_release); }
  void Acknowledge() { acks().Acknowledge(1); }
  void WaitForAll() { acks().WaitFor(reported_); }

 private:
  [[nodiscard]] ibverbs::EventAcks acks() { return {mutex_, changed_, acknowledged_}; }

  pthread_mutex_t mutex_ = {};
  pthread_cond_t changed_ = {};
  uint32_t acknowledged_ = 0;
  std::atomic<uint32_t> reported_ = 0;
};

}  // namespace verbena::rdmacm
