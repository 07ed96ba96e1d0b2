#pragma once

#include "base/error.h"
#include "memory/memory_error.h"

namespace verbena::adapter {

// As coarse as the error numbers of the verbs.
[[nodiscard]] Error ErrorOf(memory::MemoryError error);

}  // namespace verbena::adapter
