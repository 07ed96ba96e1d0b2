#pragma once

#include <string_view>

#include "ibverbs/failure.h"

namespace verbena::rdmacm {

using ibverbs::Invalid;
using ibverbs::MinusOne;
using ibverbs::Thrown;

// Calls of the connection manager return -1 with the error number in errno; the reason goes to the
// log.
[[nodiscard]] inline int Failed(std::string_view call, const Error& error) noexcept {
  return MinusOne(ibverbs::Failed(call, error));
}

}  // namespace verbena::rdmacm
