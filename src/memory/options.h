#pragma once

#include <cstdint>

#include "base/time.h"
#include "verbena/numbers.h"

namespace verbena::memory {

// Every limit of the memory core with its default and its reason. A call that exceeds a limit fails
// with MemoryError::kLimitReached and changes nothing.
struct MemoryOptions {
  // Regions, windows and iSCSI tasks together, plus one: the slot whose keys could be 0 is never
  // used. The default is the range of a 24-bit index; a slot takes memory when it is first used.
  uint32_t key_slots_max = kKeyIndexCount;

  // Quarantine of a slot after all 256 variants of its index were handed out. A key that was
  // invalidated less than this time ago is always recognised as stale, unless its owner chose the
  // variant itself, or the table was full and there was no other slot to move to.
  Duration key_quarantine = Seconds(60);

  // Small objects, a few dozen bytes each: the defaults are far above any real program.
  uint32_t consumers_max = 1 << 12;
  uint32_t domains_max = 1 << 16;
  uint32_t guests_max = 1 << 12;

  // A region with pages of its own has one translation table; page tables of consumers and guests
  // are translation tables too.
  uint64_t translation_tables_max = uint64_t{1} << 24;

  // Whether peers may use keys of regions, as RDMA programs do, or keys of windows only.
  bool remote_through_regions = true;

  // The seed of random keys. The adapter takes it from the system, the simulator from its own seed.
  uint64_t seed = 1;
};

}  // namespace verbena::memory
