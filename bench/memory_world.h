#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "memory/memory_core.h"

namespace verbena::bench {

using namespace memory;  // NOLINT(google-build-using-namespace): a benchmark is a user of the layer

inline constexpr uint64_t kGiB = uint64_t{1} << 30;
inline constexpr uint64_t kTiB = uint64_t{1} << 40;
inline constexpr Access kFull =
    Access::kLocalRead | Access::kLocalWrite | Access::kRemote | Access::kWindowBind;

// The tables of an adapter with a number of one-page regions, whose pages are present. The memory
// itself does not exist: the tables never access it.
class MemoryWorld {
 public:
  explicit MemoryWorld(uint64_t region_count) {
    const auto consumer = core.consumers.Open({});
    CHECK(consumer.has_value());
    pd = *core.domains.Allocate(*consumer);
    who = {pd, QpNumber(17)};
    for (uint64_t i = 0; i < region_count; ++i) keys.push_back(RegisterPage(kBase + i * kStride));
    // Random order, so that the benchmark does not measure the last region only.
    Random random(7);
    random.Shuffle(std::span(keys));
  }

  Key RegisterPage(uint64_t base) {
    const RegionSpec spec{
        .pd = pd, .start = KeyAddress(kOffset), .length = kBytes, .rights = kFull};
    const auto made = core.regions.Register(spec, LinearBacking{PhysicalAddress(base + kOffset)});
    CHECK(made.has_value());
    CHECK(core.regions.MapPages(made->local, 0, 1, std::nullopt, true).has_value());
    return made->remote;
  }

  // A region on a page of a guest, which is present at both stages.
  Key RegisterGuestPage(uint64_t page) {
    if (guest == kHost) {
      guest = *core.guests.Create({.memory_bytes = kGiB, .base = MachineAddress(2 * kTiB)});
    }
    const uint64_t physical = page * 4096 % kGiB;
    const RegionSpec spec{
        .pd = pd, .start = KeyAddress(kOffset), .length = kBytes, .rights = kFull};
    const auto made = core.regions.Register(
        spec, LinearBacking{.base = PhysicalAddress(physical + kOffset), .guest = guest});
    CHECK(made.has_value());
    CHECK(core.regions.MapPages(made->local, 0, 1, std::nullopt, true).has_value());
    CHECK(core.guests.MapInPlace(guest, PhysicalAddress(physical), 1, true).has_value());
    return made->remote;
  }

  // One remote write of 64 bytes in the middle of a page.
  Translation Hit(Key key) const {
    return core.translator.Translate(key, KeyAddress(kOffset + 640), 64, AccessKind::kRemoteWrite,
                                     who);
  }

  uint64_t TableBytes() const {
    return core.table.bytes() + core.translations.table_object_bytes();
  }

  static constexpr uint64_t kBase = kTiB;
  static constexpr uint64_t kStride = 8192;
  static constexpr uint64_t kOffset = 100;
  static constexpr uint64_t kBytes = 3000;

  MemoryCore core;
  PdId pd;
  Accessor who;
  GuestKey guest = kHost;
  std::vector<Key> keys;
};

}  // namespace verbena::bench
