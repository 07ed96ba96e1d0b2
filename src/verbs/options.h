#pragma once

#include "adapter/options.h"
#include "verbena/options.h"

namespace verbena::verbs {

// The options of the adapter of a device that is opened with `options`.
[[nodiscard]] adapter::AdapterOptions ToAdapter(const Options& options);

}  // namespace verbena::verbs
