#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "rdmacm/rsocket/errno.h"
#include "rdmacm/rsocket/wire.h"

namespace verbena::rsockets {

// The buffers that the program has mapped for the peer (riomap). Each uses a slot of the peer's
// iomap list, and is announced by a write to that slot. The owner's lock guards it.
class Iomaps {
 public:
  // An entry to be announced to the peer.
  struct Announcement {
    uint16_t slot = 0;
    IomapEntry entry{};
  };

  // `slots`: the length of the peer's iomap list.
  explicit Iomaps(uint16_t slots) : slot_used_(slots) {}

  // Registers [buffer, buffer + length). `for_peer`: the peer may write it; otherwise it uses no
  // slot and is only registered. The peer refers to it by `offset`, or, without one, by its
  // address. Returns the offset. ENOMEM if no slot is free.
  [[nodiscard]] ErrnoOr<uint64_t> Map(ibv_pd* pd, void* buffer, std::size_t length, bool for_peer,
                                      std::optional<uint64_t> offset);
  // EINVAL if no mapping has exactly this range.
  [[nodiscard]] ErrnoOr<void> Unmap(const void* buffer, std::size_t length);

  [[nodiscard]] std::optional<Announcement> next() const;
  // The announcement that next() returned was sent.
  void MarkAnnounced();

 private:
  struct Deregister {
    void operator()(ibv_mr* region) const { ibv_dereg_mr(region); }
  };
  struct Mapping {
    std::unique_ptr<ibv_mr, Deregister> region = {};
    uint64_t offset = 0;
    std::optional<uint16_t> slot = {};
    bool announced = false;
  };

  [[nodiscard]] std::optional<uint16_t> FreeSlot() const;

  std::vector<bool> slot_used_;
  std::list<Mapping> mappings_;  // oldest first; bounded by slots and by registrations
};

}  // namespace verbena::rsockets
