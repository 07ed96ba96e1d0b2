#pragma once

#include "verbena/completion.h"
#include "verbena/error.h"
#include "verbena/post_error.h"

namespace verbena::cli {

// A readable error for a failed work request or a failed call of the data path.
[[nodiscard]] Error InWords(const Completion& completion);
[[nodiscard]] Error InWords(ErrorCode code);
[[nodiscard]] Error InWords(const PostError& error);
[[nodiscard]] ErrorOr<void> InWords(const PostResult& result);

}  // namespace verbena::cli
