#include "odp/residency_probe.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"
#include "base/page.h"
#include "memory/address.h"

namespace verbena::odp {
namespace {

// From Linux's uapi/linux/fs.h, which the headers of older systems lack.
struct PageRegion {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t categories = 0;
};
struct ScanArguments {
  uint64_t size = sizeof(ScanArguments);
  uint64_t flags = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t walk_end = 0;
  uint64_t regions = 0;
  uint64_t region_count = 0;
  uint64_t pages_max = 0;
  uint64_t categories_inverted = 0;
  uint64_t categories_all = 0;
  uint64_t categories_any = 0;
  uint64_t categories_returned = 0;
};
static_assert(sizeof(ScanArguments) == 96);
constexpr uint64_t kPresent = 1 << 3;
const unsigned long kScan = _IOWR('f', 16, ScanArguments);

// Enough for the worst case, in which every other page is present.
using Regions = std::array<PageRegion, ResidencyProbe::kPagesAtOnce / 2>;

// How many regions were found; nullopt if the system cannot scan.
std::optional<size_t> Scan(int pagemap, uint64_t address, uint64_t end, Regions& regions) {
  ScanArguments scan;
  scan.start = address;
  scan.end = end;
  scan.regions = reinterpret_cast<uintptr_t>(regions.data());
  scan.region_count = regions.size();
  scan.categories_all = scan.categories_returned = kPresent;
  const int found = ioctl(pagemap, kScan, &scan);
  if (found < 0) return std::nullopt;
  return static_cast<size_t>(found);
}

// How many pages mincore has told of. It stops at the first one that is not mapped.
uint64_t AskByMincore(uint64_t address, uint64_t page_count,
                      std::array<unsigned char, ResidencyProbe::kPagesAtOnce>& residence) {
  constexpr unsigned char kUntold = 0xff;
  std::fill_n(residence.begin(), page_count, kUntold);
  static_cast<void>(mincore(memory::PointerTo(memory::MachineAddress(address)),
                            page_count * kBasePage.bytes(), residence.data()));
  const auto end = residence.begin() + static_cast<ptrdiff_t>(page_count);
  return static_cast<uint64_t>(std::find(residence.begin(), end, kUntold) - residence.begin());
}

ResidencyProbe::Pages ProbeByMincore(uint64_t address, uint64_t page_count) {
  ResidencyProbe::Pages present;
  std::array<unsigned char, ResidencyProbe::kPagesAtOnce> residence;
  for (uint64_t first = 0; first < page_count; ++first) {  // also skips a page that is not mapped
    const uint64_t told =
        AskByMincore(address + first * kBasePage.bytes(), page_count - first, residence);
    // The other bits have no defined meaning.
    for (uint64_t i = 0; i < told; ++i) present[first + i] = (residence[i] & 1) != 0;
    first += told;
  }
  return present;
}

}  // namespace

ResidencyProbe::ResidencyProbe(Method best) {
  if (best != Method::kPagemap) return;
  FileDescriptor pagemap(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  // Without bytes the call only checks whether the kernel supports it.
  Regions none;
  if (pagemap.is_open() && Scan(pagemap.get(), 0, 0, none)) pagemap_ = std::move(pagemap);
}

ResidencyProbe::Pages ResidencyProbe::Probe(uint64_t address, uint64_t page_count) const {
  CHECK(page_count <= kPagesAtOnce && (address & kBasePage.mask()) == 0);
  if (page_count == 0) return {};
  if (!pagemap_.is_open()) return ProbeByMincore(address, page_count);
  Regions regions;
  const auto count =
      Scan(pagemap_.get(), address, address + page_count * kBasePage.bytes(), regions);
  if (!count) return ProbeByMincore(address, page_count);
  Pages present;
  for (size_t i = 0; i < *count; ++i) {
    const uint64_t first = (regions[i].start - address) >> kBasePage.value();
    const uint64_t end = (regions[i].end - address) >> kBasePage.value();
    for (uint64_t page = first; page < end; ++page) present.set(page);
  }
  return present;
}

uint64_t ResidencyProbe::LookForPrefix(uint64_t address, uint64_t page_count) const {
  for (uint64_t done = 0; done < page_count;) {
    const uint64_t count = std::min(page_count - done, kPagesAtOnce);
    const Pages present = Probe(address + done * kBasePage.bytes(), count);
    uint64_t prefix = 0;
    while (prefix < count && present[prefix]) ++prefix;
    done += prefix;
    if (prefix < count) return done;
  }
  return page_count;
}

}  // namespace verbena::odp
