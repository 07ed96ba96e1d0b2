#include "ibverbs/settings.h"

#include <string>
#include <string_view>

#include "base/byte_count.h"
#include "base/log.h"
#include "base/variables.h"

namespace verbena::ibverbs {
namespace {

LinkLayer LinkLayerOf(std::string_view value) {
  if (value == "ib") return LinkLayer::kInfiniband;
  if (!value.empty() && value != "roce") {
    LogOnce("VERBENA_LINK_LAYER is roce or ib, and not '" + std::string(value) + "'");
  }
  return LinkLayer::kRoce;
}

uint64_t BudgetOf(std::string_view value) {
  constexpr uint64_t kBudgetMin = uint64_t{1} << 20;
  if (value.empty()) return 0;
  const auto bytes = ParseByteCount(value);
  if (bytes && (*bytes == 0 || *bytes >= kBudgetMin)) return *bytes;
  LogOnce("VERBENA_MEMORY_BUDGET is a size like 64M, of 1M at least, and not '" +
          std::string(value) + "'");
  return 0;
}

// Pinning is off under a memory budget: locked pages cannot be evicted.
bool PinUnless(uint64_t budget) {
  if (!IsOn("VERBENA_PIN")) return false;
  if (budget > 0) LogOnce("VERBENA_PIN is left out, because VERBENA_MEMORY_BUDGET is set");
  return budget == 0;
}

}  // namespace

Settings Settings::FromEnvironment() {
  WarnOfVariables();  // also to a program that opens no device
  const uint64_t budget = BudgetOf(Variable("VERBENA_MEMORY_BUDGET"));
  return {.link_layer = LinkLayerOf(Variable("VERBENA_LINK_LAYER")),
          .trace = TraceVariable(),
          .strict = IsOn("VERBENA_STRICT"),
          .pin = PinUnless(budget),
          .page_events = IsOn("VERBENA_PAGE_EVENTS"),
          .windows_only = IsOn("VERBENA_WINDOWS_ONLY"),
          .memory_budget = budget,
          .budget_strict = IsOn("VERBENA_MEMORY_BUDGET_STRICT"),
          .swap = std::string(Variable("VERBENA_SWAP"))};
}

Options Settings::ToOptions() const {
  Options options;
  options.strict = strict;
  options.pin = pin;
  options.page_events = page_events;
  options.remote_through_regions = !windows_only;
  options.memory_budget = memory_budget;
  options.memory_budget_strict = budget_strict;
  if (!swap.empty()) options.swap = swap;
  options.trace = trace;
  options.on_urgent_warning = [](const std::string& warning) { Log(LogLevel::kWarning, warning); };
  return options;
}

}  // namespace verbena::ibverbs
