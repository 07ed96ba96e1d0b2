#include "adapter/resident_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "adapter/page_jobs.h"
#include "base/page.h"
#include "memory/address.h"

namespace verbena::adapter {
namespace {

constexpr size_t kAskedAtOnce = 256;
constexpr PageShift kPage(PageShift::kMin);

// How many bytes from `address` on are in memory, up to `length`.
uint64_t ResidentBytes(uint64_t address, uint64_t length) {
  std::array<unsigned char, kAskedAtOnce> known;
  void* const start = memory::PointerTo(memory::MachineAddress(address));
  if (mincore(start, length, known.data()) != 0) return 0;
  const auto end = known.begin() + static_cast<std::ptrdiff_t>(length / kPage.bytes());
  const auto gone = std::find_if(known.begin(), end, [](unsigned char page) {
    return (page & 1) == 0;  // the other bits mean nothing
  });
  return static_cast<uint64_t>(gone - known.begin()) * kPage.bytes();
}

}  // namespace

bool ResidentPages::Map(const memory::Fault& fault) {
  constexpr uint64_t kBytesMax = kAskedAtOnce * kPage.bytes();
  PageJob job = JobFor(memory_, {.qp = {}, .ticket = {}, .fault = fault}, kBytesMax);
  managed_.RefuseProgramView(job);
  if (managed_.Covers(job.address)) return false;
  const uint64_t length = job.page_count * fault.page_shift.bytes();
  if (length == 0 || length > kBytesMax) return false;
  job.brought = ResidentBytes(job.address, length) / fault.page_shift.bytes();
  return MapPages(memory_, job);
}

}  // namespace verbena::adapter
