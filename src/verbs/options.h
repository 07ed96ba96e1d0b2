#pragma once

#include "adapter/options.h"
#include "verbena/options.h"

namespace verbena::verbs {

// Converts the options of the API to those of the adapter.
[[nodiscard]] adapter::AdapterOptions ToAdapter(const Options& options);

}  // namespace verbena::verbs
