#include "verbs/options.h"

#include <algorithm>

namespace verbena::verbs {

adapter::AdapterOptions ToAdapter(const Options& options) {
  adapter::AdapterOptions to{options};
  if (!options.guest.empty()) {
    // Until the broker sets another budget.
    to.memory_budget = std::max(options.guest_min, adapter::kMemoryBudgetMin);
    to.memory_floor = options.guest_min;
  }
  to.connection_manager = true;
  return to;
}

}  // namespace verbena::verbs
