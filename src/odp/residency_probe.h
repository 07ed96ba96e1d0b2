#pragma once

#include <bitset>
#include <cstdint>

#include "base/file_descriptor.h"

namespace verbena::odp {

// Finds out which pages of this process are in memory, many at a time and without touching any.
//
//   kPagemap  PAGEMAP_SCAN of the page table, since Linux 6.7: a page is present if an access to it
//             needs no page fault
//   kMincore  on older systems: a page is present if the system has it in memory. mincore always
//             reports so for files that the process may not write
//
// Thread rule: any thread.
class ResidencyProbe {
 public:
  enum class Method : uint8_t { kPagemap, kMincore };
  static constexpr uint64_t kPagesAtOnce = 512;
  using Pages = std::bitset<kPagesAtOnce>;

  // Uses `best` if this system has it, otherwise the next one.
  explicit ResidencyProbe(Method best = Method::kPagemap);

  [[nodiscard]] Method method() const {
    return pagemap_.is_open() ? Method::kPagemap : Method::kMincore;
  }

  // Bit i says whether the i-th 4 KiB page from `address` on is present. An unmapped page is
  // absent. REQUIRES: `address` is on a page border, and page_count <= kPagesAtOnce.
  [[nodiscard]] Pages Probe(uint64_t address, uint64_t page_count) const;
  // How many of these pages are present, counted from the first on.
  [[nodiscard]] uint64_t LookForPrefix(uint64_t address, uint64_t page_count) const;

 private:
  FileDescriptor pagemap_;
};

// Calls fn(first, end) for each run of the first `count` pages whose bit equals `there`.
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
