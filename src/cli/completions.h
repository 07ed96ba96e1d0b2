#pragma once

#include "verbena/completion.h"
#include "verbena/error.h"

namespace verbena::cli {

// A readable error for a failed work request or a failed call of the data path.
[[nodiscard]] Error InWords(const Completion& completion);
[[nodiscard]] Error InWords(ErrorCode code);
[[nodiscard]] ErrorOr<void> InWords(const CodeOr<void>& result);

}  // namespace verbena::cli
