#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace verbena::ibverbs {

// The events of an object that the program was given and those that it has acknowledged. An object
// does not end before the two are equal: who was given an event holds its address.
//
// A view of what lies in the C structure, and of our count beside it. Thread rule: any thread.
class EventAcks {
 public:
  EventAcks(pthread_mutex_t& mutex, pthread_cond_t& changed, uint32_t& acknowledged)
      : mutex_(mutex), changed_(changed), acknowledged_(acknowledged) {}

  void Acknowledge(uint32_t count) {
    pthread_mutex_lock(&mutex_);
    acknowledged_ += count;
    pthread_cond_broadcast(&changed_);
    pthread_mutex_unlock(&mutex_);
  }

  void WaitFor(const std::atomic<uint32_t>& given) {
    pthread_mutex_lock(&mutex_);
    while (acknowledged_ != given.load(std::memory_order_acquire)) {
      pthread_cond_wait(&changed_, &mutex_);
    }
    pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t& mutex_;
  pthread_cond_t& changed_;
  uint32_t& acknowledged_;
};

// Of any C structure that has the mutex and the condition; `acknowledged` is its own count.
template <class Object>
[[nodiscard]] EventAcks AcksOf(Object& object, uint32_t& acknowledged) {
  return {object.mutex, object.cond, acknowledged};
}

template <class Object>
void InitAcks(Object& object) {
  pthread_mutex_init(&object.mutex, nullptr);
  pthread_cond_init(&object.cond, nullptr);
}

template <class Object>
void EndAcks(Object& object) {
  pthread_cond_destroy(&object.cond);
  pthread_mutex_destroy(&object.mutex);
}

}  // namespace verbena::ibverbs
