#pragma once

#include "base/error.h"
#include "memory/memory_error.h"

namespace verbena::adapter {

// Maps an error of the memory core to a code that is as coarse as the error numbers of the verbs.
[[nodiscard]] Error ErrorOf(memory::MemoryError error);

}  // namespace verbena::adapter
