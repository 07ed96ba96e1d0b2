#pragma once

#include <cstdint>

namespace verbena::odp {

// How pages are paged in.
enum class PopulateMethod : uint8_t {
  kAdvise,  // by madvise, since Linux 5.14
  kTouch,   // by a guarded access to each page
};

// kAdvise if this system supports it.
[[nodiscard]] PopulateMethod BestPopulateMethod();

// Makes the pages of [address, address + length) of this process present, writable if asked. Can
// take as long as a disk. False if a page is not available: not mapped, not accessible with this
// right, or beyond the end of its file; the pages before it may be present. REQUIRES: SignalGuard
// is installed.
//
// Any thread.
[[nodiscard]] bool Populate(uint64_t address, uint64_t length, bool for_write,
                            PopulateMethod method);

}  // namespace verbena::odp
