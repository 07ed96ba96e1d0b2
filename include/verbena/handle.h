#pragma once

#include <memory>
#include <utility>

namespace verbena {

// What all objects of this API are: the only owner of something in the adapter, which ends with it.
// Moves, and does not copy. Objects may end in any order: what another one stands on stays until
// that one has ended, too.
//
// Empty after a move from it, after Destroy, or if made from nothing; calls on an empty one fail
// with ErrorCode::kInvalid, and what it is asked about is 0.
//
// Thread rule: any thread may call, at any time; but no thread may move, assign or end an object
// while another uses it.
template <class Object>
class Handle {
 public:
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  [[nodiscard]] explicit operator bool() const { return object_ != nullptr; }

  // For Verbena itself.
  [[nodiscard]] const std::shared_ptr<Object>& object() const { return object_; }

 protected:
  Handle() = default;
  explicit Handle(std::shared_ptr<Object> object) : object_(std::move(object)) {}
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&&) noexcept = default;
  ~Handle() = default;

  void Reset() { object_.reset(); }

 private:
  std::shared_ptr<Object> object_;
};

}  // namespace verbena
