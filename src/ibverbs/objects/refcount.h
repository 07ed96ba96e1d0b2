#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace verbena::ibverbs {

// Counts how many other objects use an object, of which it is a member. Most objects are not
// destroyed while they have users. Imports are, because ibv_unimport_pd cannot refuse. Such an
// object is made by std::make_shared and holds a reference to itself here, until the last user has
// gone.
//
// Thread rule: any thread.
struct Users {
  std::atomic<uint32_t> count = 0;
  std::shared_ptr<void> self =
      nullptr;  // null for an object that is not destroyed before its users

  [[nodiscard]] bool any() const { return count != 0; }
};

// Releases the program's own reference to an object that was made by new, or by std::make_shared.
template <class Object>
void Release(Object& object) {
  if (object.users.self == nullptr) {
    delete &object;
  } else {
    // Moved out first, because the object may be destroyed with this reference.
    const std::shared_ptr<void> last = std::move(object.users.self);
  }
}

// One reference on an object: adds 1 to the object's count of users, and subtracts it in the
// destructor.
//
// Owned by the user of the object. Thread rule: any thread, but one at a time.
class Refcount {
 public:
  Refcount() = default;
  explicit Refcount(Users& users) : users_(users.self, &users) { ++users_->count; }
  Refcount(Refcount&& from) noexcept = default;
  Refcount& operator=(Refcount&& from) noexcept {
    std::swap(users_, from.users_);
    return *this;
  }
  Refcount(const Refcount&) = delete;
  Refcount& operator=(const Refcount&) = delete;
  ~Refcount() {
    if (users_ != nullptr) --users_->count;
  }

 private:
  std::shared_ptr<Users> users_;  // keeps the object, if it has a reference to itself
};

}  // namespace verbena::ibverbs
