#include "rdmacm/rsocket/iomap.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace verbena::rsockets {

std::optional<uint16_t> Iomaps::FreeSlot() const {
  const auto free = std::ranges::find(slot_used_, false);
  if (free == slot_used_.end()) return std::nullopt;
  return static_cast<uint16_t>(free - slot_used_.begin());
}

ErrnoOr<uint64_t> Iomaps::Map(ibv_pd* pd, void* buffer, std::size_t length, bool for_peer,
                              std::optional<uint64_t> offset) {
  if (length == 0 || length > std::numeric_limits<uint32_t>::max()) return Fail(Errno{EINVAL});
  Mapping mapping{.offset = offset.value_or(reinterpret_cast<uint64_t>(buffer))};
  if (for_peer) {
    mapping.slot = FreeSlot();
    if (!mapping.slot) return Fail(Errno{ENOMEM});
  }
  const int access = IBV_ACCESS_LOCAL_WRITE | (for_peer ? IBV_ACCESS_REMOTE_WRITE : 0);
  mapping.region.reset(ibv_reg_mr(pd, buffer, length, access));
  if (mapping.region == nullptr) return Fail(LastErrno());
  const uint64_t mapped_at = mapping.offset;
  mappings_.push_back(std::move(mapping));
  if (const auto slot = mappings_.back().slot) slot_used_[*slot] = true;
  return mapped_at;
}

ErrnoOr<void> Iomaps::Unmap(const void* buffer, std::size_t length) {
  const auto mapping = std::ranges::find_if(mappings_, [&](const Mapping& m) {
    return m.region->addr == buffer && m.region->length == length;
  });
  if (mapping == mappings_.end()) return Fail(Errno{EINVAL});
  if (mapping->slot) slot_used_[*mapping->slot] = false;
  mappings_.erase(mapping);
  return {};
}

std::optional<Iomaps::Announcement> Iomaps::next() const {
  const auto mapping = std::ranges::find_if(
      mappings_, [](const Mapping& m) { return m.slot.has_value() && !m.announced; });
  if (mapping == mappings_.end()) return std::nullopt;
  const ibv_mr& region = *mapping->region;
  return Announcement{.slot = *mapping->slot,
                      .entry = {.offset = mapping->offset,
                                .buffer = {.address = reinterpret_cast<uint64_t>(region.addr),
                                           .rkey = region.rkey,
                                           .length = static_cast<uint32_t>(region.length)}}};
}

void Iomaps::MarkAnnounced() {
  const auto mapping = std::ranges::find_if(
      mappings_, [](const Mapping& m) { return m.slot.has_value() && !m.announced; });
  CHECK(mapping != mappings_.end());
  mapping->announced = true;
}

}  // namespace verbena::rsockets
