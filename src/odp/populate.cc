#include "odp/populate.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/page.h"
#include "memory/address.h"
#include "memory/copy/guarded_copy.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace verbena::odp {
namespace {

bool Advise(uint64_t address, uint64_t length, bool for_write) {
  const int advice = for_write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  void* const start = memory::PointerTo(memory::MachineAddress(address));
  while (madvise(start, length, advice) != 0) {
    // EAGAIN: the system was short of memory for a moment.
    if (errno != EINTR && errno != EAGAIN) return false;
  }
  return true;
}

// Adding 0 is a write that changes nothing, whatever another thread writes there meanwhile.
bool Touch(uint64_t address, uint64_t length, bool for_write) {
  for (uint64_t at = address; at < address + length; at += kBasePage.bytes()) {
    std::byte* const word = memory::PointerTo(memory::MachineAddress(at));
    const bool there = for_write ? memory::GuardedFetchAdd64(word, 0).has_value()
                                 : memory::GuardedLoad64(word).has_value();
    if (!there) return false;
  }
  return true;
}

}  // namespace

PopulateMethod BestPopulateMethod() {
  // Without bytes the call only checks whether the kernel knows the advice.
  void* const here = nullptr;
  return madvise(here, 0, MADV_POPULATE_READ) == 0 ? PopulateMethod::kAdvise
                                                   : PopulateMethod::kTouch;
}

bool Populate(uint64_t address, uint64_t length, bool for_write, PopulateMethod method) {
  if (length == 0) return true;
  const uint64_t first = RoundDown(address, kBasePage);
  const uint64_t size = PageCount(address, length, kBasePage) * kBasePage.bytes();
  return method == PopulateMethod::kAdvise ? Advise(first, size, for_write)
                                           : Touch(first, size, for_write);
}

}  // namespace verbena::odp
