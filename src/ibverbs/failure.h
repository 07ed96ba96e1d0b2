#pragma once

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "verbena/post_error.h"

namespace verbena::ibverbs {

// An error of an argument.
[[nodiscard]] inline Error Invalid(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

// An error of something that the verbs define and Verbena does not support.
[[nodiscard]] inline Error NotOffered(std::string text) {
  return {ErrorCode::kNotSupported, std::move(text)};
}

// The error number of the verbs for a failure; an error of the system keeps the system's number.
[[nodiscard]] int ErrnoOf(ErrorCode code);
[[nodiscard]] int ErrnoOf(const Error& error);

// Some verbs return the error number, others set errno and return null. Both functions log the
// reason, as a warning if a limit was reached and as a debug message otherwise.
[[nodiscard]] int Failed(std::string_view call, const Error& error) noexcept;

// 0 if a request was posted. Otherwise the error number; the log says which argument is wrong.
[[nodiscard]] int Posted(std::string_view call, const PostResult& result) noexcept;

// For calls that return a pointer: Null("ibv_create_cq", error).
[[nodiscard]] std::nullptr_t Null(std::string_view call, const Error& error) noexcept;

// EOPNOTSUPP for calls that are not supported; logged once per call.
[[nodiscard]] int Unsupported(std::string_view call) noexcept;
[[nodiscard]] int UnsupportedFd(std::string_view call) noexcept;
[[nodiscard]] std::nullptr_t UnsupportedNull(std::string_view call) noexcept;

// No exception crosses into C. A function that a program can call and that may allocate, or start a
// thread, is a function-try-block that ends in one of these:
//
//   int ibv_x(...) try {
//     ...
//   } catch (...) {
//     return Thrown("ibv_x");
//   }
//
// ENOMEM when memory ran out, the system's own number when it refused a thread. They allocate
// nothing. REQUIRES: an exception is being handled. tools/check_border.py looks for them.
[[nodiscard]] int Thrown(std::string_view call) noexcept;
[[nodiscard]] std::nullptr_t ThrownNull(std::string_view call) noexcept;

// For calls that return -1 and set errno.
[[nodiscard]] inline int MinusOne(int error) noexcept {
  errno = error;
  return -1;
}

}  // namespace verbena::ibverbs
