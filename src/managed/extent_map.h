#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace verbena::managed {

// Which units of a file are in use. An extent is 1 to 8 units in a row: a unit is an eighth of what
// the owner stores when it does not get smaller, whatever that is in bytes.
//
// The file is cut into slabs of 64 units, each of which holds extents of one size only. So finding
// and freeing cost the same whatever the history, no extent is ever between two others and too
// small, and what is taken in a row of one size lies in a row. A slab whose last extent was freed
// may serve another size. The price: slabs that are nearly empty are kept from other sizes.
//
// Invariant: a slab is unassigned; or it belongs to one size, and is in that size's list if and
// only if it has room. Grows by Grow alone. One thread at a time: its owner guards it.
class ExtentMap {
 public:
  static constexpr uint32_t kExtentUnitsMax = 8;
  static constexpr uint32_t kSlabUnits = 64;

  // The first unit of an extent of `units`, lowest first in its slab; nullopt when there is no
  // room.
  [[nodiscard]] std::optional<uint32_t> Take(uint32_t units);

  // `first` and `units` are those of a Take.
  void Give(uint32_t first, uint32_t units);

  // Adds `slabs` of room at the end.
  void Grow(uint32_t slabs);

  // Room in all: what it grew to.
  [[nodiscard]] uint64_t unit_count() const { return uint64_t{kSlabUnits} * slabs_.size(); }
  [[nodiscard]] uint64_t used_units() const { return used_units_; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Slab {
    uint64_t free = 0;          // a bit for each extent that the slab has room for
    uint32_t previous = kNone;  // in the list of its size, or of the unassigned
    uint32_t next = kNone;
    uint8_t units = 0;  // of its extents; 0: unassigned
  };

  static uint64_t AllFree(uint32_t units);
  // Unassigned slabs are in the list of size 0.
  void Link(uint32_t slab);
  void Unlink(uint32_t slab);
  [[nodiscard]] uint32_t SlabFor(uint32_t units);

  std::vector<Slab> slabs_;
  std::array<uint32_t, kExtentUnitsMax + 1> heads_ = {kNone, kNone, kNone, kNone, kNone,
                                                      kNone, kNone, kNone, kNone};
  uint64_t used_units_ = 0;
};

}  // namespace verbena::managed
