#include "ibverbs/settings.h"

#include <charconv>
#include <string>
#include <string_view>

#include "base/byte_count.h"
#include "base/log.h"
#include "base/variables.h"
#include "verbena/registration_cache.h"

namespace verbena::ibverbs {
namespace {

LinkLayer LinkLayerOf(std::string_view value) {
  if (value == "ib") return LinkLayer::kInfiniband;
  if (!value.empty() && value != "roce") {
    LogOnce("VERBENA_LINK_LAYER must be roce or ib, not '" + std::string(value) + "'");
  }
  return LinkLayer::kRoce;
}

uint8_t MpaRevisionOf(std::string_view value) {
  if (value == "1") return 1;
  if (!value.empty() && value != "2") {
    LogOnce("VERBENA_MPA_REVISION must be 1 or 2, not '" + std::string(value) + "'");
  }
  return 2;
}

bool MpaCrcOf(std::string_view value) {
  if (value == "off") return false;
  if (!value.empty() && value != "on") {
    LogOnce("VERBENA_MPA_CRC must be on or off, not '" + std::string(value) + "'");
  }
  return true;
}

uint64_t BudgetOf(std::string_view value) {
  constexpr uint64_t kBudgetMin = uint64_t{1} << 20;
  if (value.empty()) return 0;
  const auto bytes = ParseByteCount(value);
  if (bytes && (*bytes == 0 || *bytes >= kBudgetMin)) return *bytes;
  LogOnce("VERBENA_MEMORY_BUDGET must be a size of at least 1M, such as 64M, not '" +
          std::string(value) + "'");
  return 0;
}

// Pinning is off under a memory budget: locked pages cannot be evicted.
bool PinUnless(bool has_budget) {
  if (!IsOn("VERBENA_PIN")) return false;
  if (has_budget) LogOnce("VERBENA_PIN is ignored, because there is a memory budget");
  return !has_budget;
}

// 0 if it is not set, or no size.
uint64_t SizeOf(const char* name) {
  const std::string_view value = Variable(name);
  if (value.empty()) return 0;
  const auto bytes = ParseByteCount(value);
  if (bytes) return *bytes;
  LogOnce(std::string(name) + " must be a size like 64M, not '" + std::string(value) + "'");
  return 0;
}

uint32_t WeightOf(std::string_view value) {
  if (value.empty()) return 0;
  uint32_t weight = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), weight);
  if (error == std::errc() && end == value.data() + value.size() && weight > 0) return weight;
  LogOnce("VERBENA_GUEST_WEIGHT must be a number of at least 1, not '" + std::string(value) + "'");
  return 0;
}

// The budget of a guest is the broker's to set.
uint64_t BudgetUnless(bool is_guest) {
  const std::string_view value = Variable("VERBENA_MEMORY_BUDGET");
  if (!is_guest) return BudgetOf(value);
  if (!value.empty()) LogOnce("VERBENA_MEMORY_BUDGET is ignored, because VERBENA_GUEST is set");
  return 0;
}

// "1" is the default size. Regions under a memory budget are the budget's, so there is no cache.
uint64_t CacheBytesOf(std::string_view value, bool has_budget) {
  if (value.empty() || value == "0") return 0;
  if (has_budget) {
    LogOnce("VERBENA_CACHE is ignored, because there is a memory budget");
    return 0;
  }
  if (value == "1") return CacheOptions{}.bytes_max;
  if (const auto bytes = ParseByteCount(value); bytes && *bytes > 1) return *bytes;
  LogOnce("VERBENA_CACHE must be 0, 1 or a size like 64M, not '" + std::string(value) + "'");
  return 0;
}

std::optional<TransportType> TransportNamed(std::string_view name) {
  if (name == "roce") return TransportType::kRoce;
  if (name == "iwarp") return TransportType::kIwarp;
  if (name == "iwarp-sctp") return TransportType::kIwarpSctp;
  return std::nullopt;
}

}  // namespace

std::vector<TransportType> TransportsFromEnvironment() {
  using enum TransportType;
  const std::string_view value = Variable("VERBENA_TRANSPORT");
  const size_t comma = value.find(',');
  const auto first = TransportNamed(value.substr(0, comma));
  if (first && comma == std::string_view::npos) return {*first};
  if (first) {
    const auto second = TransportNamed(value.substr(comma + 1));
    // One of the two is RoCE.
    if (second && IsIwarp(*first) != IsIwarp(*second)) return {*first, *second};
  }
  if (!value.empty()) {
    LogOnce("VERBENA_TRANSPORT must be roce, iwarp, iwarp-sctp, or roce and one of the others " +
            ("with a comma, not '" + std::string(value)) + "'");
  }
  return {kRoce};
}

Settings Settings::FromEnvironment(TransportType transport) {
  WarnOfVariables();  // also to a program that opens no device
  const std::string_view guest = Variable("VERBENA_GUEST");
  const uint64_t budget = BudgetUnless(!guest.empty());
  const bool has_budget = budget > 0 || !guest.empty();
  const uint64_t cache_bytes = CacheBytesOf(Variable("VERBENA_CACHE"), has_budget);
  const bool pin = PinUnless(has_budget);
  // An RNIC has no LID.
  const LinkLayer link_layer =
      IsIwarp(transport) ? LinkLayer::kRoce : LinkLayerOf(Variable("VERBENA_LINK_LAYER"));
  return {.link_layer = link_layer,
          .transport = transport,
          .mpa_revision = MpaRevisionOf(Variable("VERBENA_MPA_REVISION")),
          .mpa_crc = MpaCrcOf(Variable("VERBENA_MPA_CRC")),
          .trace = TraceVariable(),
          .strict = IsOn("VERBENA_STRICT"),
          .pin = pin,
          // Memory that is unmapped and mapped again has to be pinned again.
          .page_events = IsOn("VERBENA_PAGE_EVENTS") || (pin && cache_bytes > 0),
          .windows_only = IsOn("VERBENA_WINDOWS_ONLY"),
          .one_touch_windows = IsOn("VERBENA_ONE_TOUCH_WINDOWS"),
          .memory_budget = budget,
          .budget_strict = IsOn("VERBENA_MEMORY_BUDGET_STRICT"),
          .swap = std::string(Variable("VERBENA_SWAP")),
          .cache_bytes = cache_bytes,
          .guest = std::string(guest),
          .guest_min = SizeOf("VERBENA_GUEST_MIN"),
          .guest_max = SizeOf("VERBENA_GUEST_MAX"),
          .guest_weight = WeightOf(Variable("VERBENA_GUEST_WEIGHT")),
          .broker = std::string(Variable("VERBENA_BROKER"))};
}

Options Settings::ToOptions() const {
  Options options;
  options.transport = transport;
  options.mpa_revision = mpa_revision;
  options.mpa_crc = mpa_crc;
  options.strict = strict;
  options.pin = pin;
  options.page_events = page_events;
  options.remote_through_regions = !windows_only;
  options.memory_budget = memory_budget;
  options.memory_budget_strict = budget_strict;
  if (!swap.empty()) options.swap = swap;
  options.guest = guest;
  if (guest_min > 0) options.guest_min = guest_min;
  if (guest_max > 0) options.guest_max = guest_max;
  if (guest_weight > 0) options.guest_weight = guest_weight;
  options.broker = broker;
  options.trace = trace;
  options.on_urgent_warning = [](const std::string& warning) { Log(LogLevel::kWarning, warning); };
  return options;
}

}  // namespace verbena::ibverbs
