#pragma once

#include <cstdint>

#include "base/time.h"
#include "verbena/numbers.h"

namespace verbena::memory {

// Every limit of the memory core with its default and its reason. When a limit is met the call
// fails with MemoryError::kLimitReached and nothing has changed.
struct MemoryOptions {
  // Regions, windows and iSCSI tasks together, and one: the slot whose keys could be 0 is never
  // used. The default is all that a 24-bit index can name; a slot costs memory only once it is
  // used.
  uint32_t key_slots_max = kKeyIndexCount;

  // How long a slot rests once all 256 variants of its index were handed out. A key that was given
  // up less than this time ago is always recognised as stale, unless its owner chose the variant
  // itself, or the table was so full that there was no other slot to move to.
  Duration key_quarantine = Seconds(60);

  // Small objects, a few dozen bytes each: the defaults are far above any real program.
  uint32_t consumers_max = 1 << 12;
  uint32_t domains_max = 1 << 16;
  uint32_t guests_max = 1 << 12;

  // A region with pages of its own has one translation table; page tables of consumers and guests
  // are translation tables too.
  uint64_t translation_tables_max = uint64_t{1} << 24;

  // The documents allow remote access through windows only, or also through regions. RDMA programs
  // hand out region keys every day, so regions serve too unless this is switched off.
  bool remote_through_regions = true;

  // Where the randomness of keys comes from; the adapter seeds it from the system, the simulator
  // from its seed.
  uint64_t seed = 1;
};

}  // namespace verbena::memory
