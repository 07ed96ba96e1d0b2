#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace verbena::ibverbs {

// One of those that an object has to outlive, for as long as it lives: counted there.
//
// Owned by the user. Thread rule: any thread, but one at a time.
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
