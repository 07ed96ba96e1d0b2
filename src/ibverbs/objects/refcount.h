#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace verbena::ibverbs {

// One reference on an object, which must outlive it: adds 1 to the object's count of users, and
// subtracts it in the destructor.
//
// Owned by the user of the object. Thread rule: any thread, but one at a time.
class Refcount {
 public:
  Refcount() = default;
  explicit Refcount(std::atomic<uint32_t>& users) : users_(&users) { ++*users_; }
  Refcount(Refcount&& from) noexcept : users_(std::exchange(from.users_, nullptr)) {}
  Refcount& operator=(Refcount&& from) noexcept {
    std::swap(users_, from.users_);
    return *this;
  }
  Refcount(const Refcount&) = delete;
  Refcount& operator=(const Refcount&) = delete;
  ~Refcount() {
    if (users_ != nullptr) --*users_;
  }

 private:
  std::atomic<uint32_t>* users_ = nullptr;
};

}  // namespace verbena::ibverbs
