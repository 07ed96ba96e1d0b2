#pragma once

#include "verbena/completion.h"
#include "verbena/error.h"

namespace verbena::cli {

// What a person should hear about a work request that failed, or a call of the data path.
[[nodiscard]] Error InWords(const Completion& completion);
[[nodiscard]] Error InWords(ErrorCode code);
[[nodiscard]] ErrorOr<void> InWords(const CodeOr<void>& result);

}  // namespace verbena::cli
