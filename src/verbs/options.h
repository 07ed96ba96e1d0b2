#pragma once

#include "adapter/options.h"
#include "verbena/options.h"

namespace verbena::verbs {

// As the adapter has them.
[[nodiscard]] adapter::Options ToAdapter(const Options& options);

}  // namespace verbena::verbs
