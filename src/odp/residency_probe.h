#pragma once

#include <bitset>
#include <cstdint>

#include "base/file_descriptor.h"

namespace verbena::odp {

// Tells which pages of this process are in memory, many at a time and without touching one.
//
//   kPagemap  a scan of the page table, which Linux 6.7 and later can make: a page is there if an
//             access to it needs no help of the system
//   kMincore  as older ones tell it: a page is there if the system has it in memory. Of files that
//             the process may not write it says so always
//
// Thread rule: any thread.
class ResidencyProbe {
 public:
  enum class Method : uint8_t { kPagemap, kMincore };
  static constexpr uint64_t kPagesAtOnce = 512;
  using Pages = std::bitset<kPagesAtOnce>;

  // The best that this system has, down from `best`.
  explicit ResidencyProbe(Method best = Method::kPagemap);

  [[nodiscard]] Method method() const {
    return pagemap_.is_open() ? Method::kPagemap : Method::kMincore;
  }

  // Bit i is page i of 4 KiB from `address` on. What is not mapped is not there. REQUIRES: the
  // address is that of a page, and there are at most kPagesAtOnce.
  [[nodiscard]] Pages Probe(uint64_t address, uint64_t page_count) const;
  // How many of them are there, from the first on.
  [[nodiscard]] uint64_t LookForPrefix(uint64_t address, uint64_t page_count) const;

 private:
  FileDescriptor pagemap_;
};

// Calls fn(first, end) for each run of the first `count` pages that are there, or are not.
template <class Fn>
void ForEachRun(const ResidencyProbe::Pages& pages, uint64_t count, bool there, Fn fn) {
  for (uint64_t first = 0; first < count;) {
    uint64_t end = first;
    while (end < count && pages[end] == there) ++end;
    if (end > first) fn(first, end);
    first = end + 1;
  }
}

}  // namespace verbena::odp
