#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace verbena::ibverbs {

// Matches the events of an object that were handed out with those that the program acknowledged.
// Destroying an object waits until the two counts are equal, because a thread that was handed an
// event holds a pointer to the object.
//
// A view of the mutex, the condition and the count in the C structure. Thread rule: any thread.
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

// `object` is any C structure with a mutex and a condition; `acknowledged` is a count in it.
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
