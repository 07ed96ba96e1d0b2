#pragma once

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "verbena/error.h"

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

// Why the system refused, by the errno that its last call left.
[[nodiscard]] Error SystemError(std::string_view what);

// The verbs fail in two ways: some return the error number, others set errno and return null. Both
// say why on the log, as a warning if a limit was met and for debugging otherwise.
[[nodiscard]] int Failed(std::string_view call, const Error& error);

// For those that return a pointer: Null("ibv_create_cq", error).
[[nodiscard]] std::nullptr_t Null(std::string_view call, const Error& error);

// What is not offered here: EOPNOTSUPP, said once a call.
[[nodiscard]] int Unsupported(std::string_view call);
[[nodiscard]] std::nullptr_t UnsupportedNull(std::string_view call);

}  // namespace verbena::ibverbs
