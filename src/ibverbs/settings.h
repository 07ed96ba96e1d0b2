#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verbena/options.h"

namespace verbena::ibverbs {

// The kind of device that programs see.
enum class LinkLayer : uint8_t {
  kRoce,        // Ethernet: addressed by GID
  kInfiniband,  // addressed by LID, too: see lid.h
};

// The settings of a user, from environment variables; `verbena run` sets these from its options. A
// value type.
struct Settings {
  LinkLayer link_layer = LinkLayer::kRoce;         // VERBENA_LINK_LAYER=roce|ib
  TransportType transport = TransportType::kRoce;  // of the device
  uint8_t mpa_revision = 2;                        // VERBENA_MPA_REVISION=1|2: see Options
  bool mpa_crc = true;                             // VERBENA_MPA_CRC=on|off: see Options
  std::string trace = {};                          // VERBENA_TRACE=FILE.pcapng; %p is the process
  bool strict = false;                             // VERBENA_STRICT=1: see Options::strict
  bool pin = false;                                // VERBENA_PIN=1: see Options::pin
  bool page_events = false;        // VERBENA_PAGE_EVENTS=1: see Options::page_events
  bool windows_only = false;       // VERBENA_WINDOWS_ONLY=1: see Options::remote_through_regions
  bool one_touch_windows = false;  // VERBENA_ONE_TOUCH_WINDOWS=1: see Bind::one_touch
  uint64_t memory_budget = 0;      // VERBENA_MEMORY_BUDGET=64M: see Options::memory_budget
  bool budget_strict = false;      // VERBENA_MEMORY_BUDGET_STRICT=1: see Options
  std::string swap = {};           // VERBENA_SWAP=PATH: see Options::swap
  uint64_t cache_bytes = 0;        // VERBENA_CACHE=1 or 64M: CacheOptions::bytes_max; 0: no cache
  // VERBENA_GUEST=NAME, VERBENA_GUEST_MIN, VERBENA_GUEST_MAX, VERBENA_GUEST_WEIGHT, VERBENA_BROKER:
  // see Options::guest.
  std::string guest = {};
  uint64_t guest_min = 0;  // 0: the default, here and below
  uint64_t guest_max = 0;
  uint32_t guest_weight = 0;
  std::string broker = {};
  // Of the device with this transport.
  [[nodiscard]] static Settings FromEnvironment(TransportType transport);
  [[nodiscard]] Options ToOptions() const;
};

// VERBENA_TRANSPORT=roce|iwarp|roce,iwarp|iwarp,roce: the transports of the devices, in their
// order.
[[nodiscard]] std::vector<TransportType> TransportsFromEnvironment();

}  // namespace verbena::ibverbs
