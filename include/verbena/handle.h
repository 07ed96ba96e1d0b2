#pragma once

#include <memory>
#include <utility>

namespace verbena {

// The base of all objects of this API. A handle is the only owner of an object in the adapter, and
// destroys it in its destructor. It can be moved, but not copied. Handles can be destroyed in any
// order: an object stays alive as long as another one depends on it.
//
// A handle is empty if it was default-constructed, moved from, or destroyed by Destroy. Calls on an
// empty handle fail with ErrorCode::kInvalid, and its getters return 0, or -1 for a descriptor.
//
// Thread rule: any thread may call at any time, but no thread may move, assign or destroy a handle
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
