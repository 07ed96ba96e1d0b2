#pragma once

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "verbena/post_error.h"

namespace verbena::ibverbs {

// Why an argument is refused.
[[nodiscard]] inline Error Invalid(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

// Why what is known is not done.
[[nodiscard]] inline Error NotOffered(std::string text) {
  return {ErrorCode::kNotSupported, std::move(text)};
}

// The error number that the verbs have for a failure; what the system refused has the system's own.
[[nodiscard]] int ErrnoOf(ErrorCode code);
[[nodiscard]] int ErrnoOf(const Error& error);

// The verbs fail in two ways: some return the error number, others set errno and return null. Both
// say why on the log, as a warning if a limit was met and for debugging otherwise.
[[nodiscard]] int Failed(std::string_view call, const Error& error) noexcept;

// 0 if a request was posted. Otherwise its number, and the log says which argument is wrong.
[[nodiscard]] int Posted(std::string_view call, const PostResult& result) noexcept;

// For those that return a pointer: Null("ibv_create_cq", error).
[[nodiscard]] std::nullptr_t Null(std::string_view call, const Error& error) noexcept;

// What is not offered here: EOPNOTSUPP, said once a call.
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

// For the verbs that return -1, with the number in errno.
[[nodiscard]] inline int MinusOne(int error) noexcept {
  errno = error;
  return -1;
}

}  // namespace verbena::ibverbs
