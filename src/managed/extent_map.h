#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace verbena::managed {

// Knows which units of a file are in use. An extent is 1 to 8 consecutive units. A unit is an
// eighth of what the owner stores uncompressed, whatever its size in bytes.
//
// The file is cut into slabs of 64 units, and a slab holds extents of one size only. So Take and
// Give cost the same whatever the history, no gap between extents is too small to be used, and
// extents of one size that are taken one after the other are adjacent. A slab whose last extent was
// freed can serve another size. The price: other sizes cannot use the room of slabs that are nearly
// empty.
//
// Invariant: a slab is unassigned; or it belongs to one size, and is in that size's list if and
// only if it has room. Only Grow adds room. One thread at a time.
class ExtentMap {
 public:
  static constexpr uint32_t kExtentUnitsMax = 8;
  static constexpr uint32_t kSlabUnits = 64;

  // The first unit of an extent of `units`, lowest first in its slab; nullopt when there is no
  // room.
  [[nodiscard]] std::optional<uint32_t> Take(uint32_t units);

  // Frees the extent whose `first` unit Take(units) returned.
  void Give(uint32_t first, uint32_t units);

  // Adds `slabs` of room at the end.
  void Grow(uint32_t slabs);

  // All units, free or used.
  [[nodiscard]] uint64_t unit_count() const { return uint64_t{kSlabUnits} * slabs_.size(); }
  [[nodiscard]] uint64_t used_units() const { return used_units_; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Slab {
    uint64_t free = 0;          // a bit for each extent of the slab: set if it is free
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
