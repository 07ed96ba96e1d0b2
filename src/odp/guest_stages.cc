#include "odp/guest_stages.h"

#include <algorithm>

#include "base/when_memory.h"
#include "memory/protection/protection_entry.h"

namespace verbena::odp {
namespace {

using memory::Fault;
using memory::GuestTable;
using memory::TranslationTable;

constexpr unsigned kPageShift = GuestTable::kPageShift.value();

// The table of the guest and the number of the job's first page in it; no table if the guest was
// destroyed or its memory is not contiguous.
struct Place {
  const TranslationTable* pages = nullptr;
  uint64_t first = 0;
  uint64_t per_page = 1;  // pages of the second stage per page of the job
};

Place PlaceOf(const memory::MemoryCore& memory, const PageJob& job) {
  const Fault& fault = job.request.fault;
  const GuestTable::Guest* const guest = memory.guests.Find(fault.guest);
  if (guest == nullptr || !guest->pages->is_linear()) return {};
  const uint64_t offset = job.address - guest->pages->LinearAddress(0).value();
  return {guest->pages, offset >> kPageShift, fault.page_shift.bytes() >> kPageShift};
}

}  // namespace

std::optional<uint64_t> MachineAddressIn(const memory::MemoryCore& memory, memory::GuestKey guest,
                                         uint64_t physical) {
  const GuestTable::Guest* const found = memory.guests.Find(guest);
  if (found == nullptr || !found->pages->is_linear()) return std::nullopt;
  if (physical >> kPageShift >= found->pages->page_count()) return std::nullopt;
  return found->pages->LinearAddress(0).value() + physical;
}

bool EnterFirstStage(memory::MemoryCore& memory, const PageJob& job, bool widens) {
  const Fault& fault = job.request.fault;
  const auto found = memory.table.FindLive(fault.region, memory::EntryType::kRegion);
  if (!found || (*found)->guest != fault.guest) return false;
  const TranslationTable* const table = (*found)->table;
  if (table == nullptr || !table->is_linear() || fault.first_page >= table->page_count()) {
    return false;
  }
  const uint64_t physical = table->LinearAddress(fault.first_page).value();
  if (MachineAddressIn(memory, fault.guest, physical) != job.address) return false;
  uint64_t first = fault.first_page;
  uint64_t end = std::min(first + job.page_count, table->page_count());
  if (widens) {
    constexpr uint64_t kLeaf = TranslationTable::kFanout;
    first -= first % kLeaf;
    end = std::min((end + kLeaf - 1) / kLeaf * kLeaf, table->page_count());
  }
  return memory.regions.MapPages(fault.region, first, end - first, {}, true).has_value();
}

uint64_t CountInSecondStage(const memory::MemoryCore& memory, const PageJob& job) {
  const Place place = PlaceOf(memory, job);
  if (place.pages == nullptr) return 0;
  const uint64_t end =
      std::min(place.first + job.page_count * place.per_page, place.pages->page_count());
  uint64_t page = place.first;
  while (page < end && place.pages->Find(page).Allows(job.request.fault.for_write)) ++page;
  return (page - place.first) / place.per_page;
}

bool EnterSecondStage(memory::MemoryCore& memory, const PageJob& job) {
  const Place place = PlaceOf(memory, job);
  if (job.paged_in == 0 || place.pages == nullptr) return false;
  const Fault& fault = job.request.fault;
  const memory::PhysicalAddress first(place.first << kPageShift);
  const uint64_t count =
      std::min(job.paged_in * place.per_page, place.pages->page_count() - place.first);
  bool entered = false;
  // Without memory for the entries, the pages count as not available.
  static_cast<void>(WhenMemory([&] {
    entered = memory.guests.MapInPlace(fault.guest, first, count, fault.for_write).has_value();
  }));
  return entered;
}

}  // namespace verbena::odp
