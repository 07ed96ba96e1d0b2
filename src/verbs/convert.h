#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "verbena/error.h"

namespace verbena::verbs {

[[nodiscard]] inline Error Invalid(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}
[[nodiscard]] inline Error Empty(const char* what) {
  return Invalid(std::string("the ") + what +
                 " handle is empty: moved from, destroyed or not created");
}

// The part of every Destroy before the handle is reset.
template <class Object>
[[nodiscard]] ErrorOr<void> EndNow(const std::shared_ptr<Object>& object, const char* what) {
  if (object == nullptr) return Fail(Empty(what));
  return object->End();
}

}  // namespace verbena::verbs
