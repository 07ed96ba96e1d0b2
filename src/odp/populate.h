#pragma once

#include <cstdint>

namespace verbena::odp {

// How pages are paged in.
enum class PopulateMethod : uint8_t {
  kAdvise,  // the system is asked to, which it can be since Linux 5.14
  kTouch,   // a guarded access to each
};

// kAdvise if this system can.
[[nodiscard]] PopulateMethod BestPopulateMethod();

// Makes the pages of [address, address + length) of this process present, writable if asked. May
// take as long as a disk. False if one of them is not to be had: not mapped, or not with this
// right, or beyond the end of its file; those before it may be there. SignalGuard must be
// installed.
//
// Any thread.
[[nodiscard]] bool Populate(uint64_t address, uint64_t length, bool for_write,
                            PopulateMethod method);

}  // namespace verbena::odp
