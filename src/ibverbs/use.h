#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace verbena::ibverbs {

// One of those that an object has to outlive, for as long as it lives: counted there.
//
// Owned by the user. Thread rule: any thread, but one at a time.
class Use {
 public:
  Use() = default;
  explicit Use(std::atomic<uint32_t>& users) : users_(&users) { ++*users_; }
  Use(Use&& from) noexcept : users_(std::exchange(from.users_, nullptr)) {}
  Use& operator=(Use&& from) noexcept {
    std::swap(users_, from.users_);
    return *this;
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    if (users_ != nullptr) --*users_;
  }

 private:
  std::atomic<uint32_t>* users_ = nullptr;
};

}  // namespace verbena::ibverbs
