#include "odp/page_jobs.h"

#include <algorithm>
#include <optional>

#include "base/when_memory.h"
#include "memory/address.h"
#include "memory/protection/protection_entry.h"
#include "odp/guest_stages.h"

namespace verbena::odp {
namespace {

using memory::EntryType;
using memory::Fault;

// Regions of the owner's address space count pages from address 0.
bool IsAddressSpace(const memory::ProtectionEntry& region) { return region.table == nullptr; }

// How many pages of a page list, from `first` on, are absent and contiguous: at most `most`. 0 if
// the list ends before `first`, because the key has another list by now.
uint64_t AwayInARow(const memory::TranslationTable& table, uint64_t first, uint64_t most) {
  if (first >= table.page_count()) return 0;
  const uint64_t start = table.Find(first).address().value();
  uint64_t count = 0;
  for (; count < most && first + count < table.page_count(); ++count) {
    const memory::PageEntry entry = table.Find(first + count);
    const bool is_backed_off = entry.is_named() && !entry.present();
    if (!is_backed_off || entry.address().value() != start + count * table.page_shift().bytes())
      break;
  }
  return count;
}

// Where the first page of the fault is in the guest's memory; nullopt if the region has changed
// meanwhile.
std::optional<uint64_t> PhysicalAddressOf(const memory::ProtectionEntry& region,
                                          const Fault& fault) {
  if (fault.stage == memory::Stage::kSecond) return fault.first_page << fault.page_shift.value();
  const bool is_there = region.table != nullptr && region.table->is_linear() &&
                        fault.first_page < region.table->page_count();
  if (!is_there) return std::nullopt;
  return region.table->LinearAddress(fault.first_page).value();
}

// Of two jobs for the same page, the one for reading may finish last. It must not make the page
// read-only again: a datagram that meets a read-only page is lost.
bool MapInTable(memory::MemoryCore& memory, const PageJob& job,
                const memory::TranslationTable& table) {
  const Fault& fault = job.request.fault;
  const auto map = [&](uint64_t page, uint64_t count) {
    return memory.regions.MapPages(fault.region, page, count, {}, fault.for_write).has_value();
  };
  if (fault.for_write && table.is_linear()) return map(fault.first_page, job.paged_in);
  for (uint64_t i = 0; i < job.paged_in; ++i) {
    const uint64_t page = fault.first_page + i;
    // Pages of a page list get their old rights back, and only once.
    const bool known =
        page < table.page_count() &&
        (table.is_linear() ? table.Find(page).Allows(true) : table.Find(page).present());
    if (!known && !map(page, 1)) return false;
  }
  return true;
}

bool MapInAddressSpace(memory::MemoryCore& memory, const PageJob& job, memory::PdId pd) {
  const Fault& fault = job.request.fault;
  const memory::ConsumerId owner = memory.domains.Find(pd)->owner;
  const memory::PageTable& pages = *memory.consumers.Find(owner)->pages;
  for (uint64_t i = 0; i < job.paged_in; ++i) {
    const uint64_t page = job.address + i * fault.page_shift.bytes();
    if (!fault.for_write && pages.Find(memory::VirtualAddress(page)).Allows(true)) continue;
    const auto mapped = memory.consumers.MapLocalPage(
        owner, memory::VirtualAddress(page), memory::PhysicalAddress(page), fault.for_write);
    if (!mapped) return false;
  }
  return true;
}

}  // namespace

PageJob JobFor(const memory::MemoryCore& memory, const transport::PageRequest& request,
               uint64_t bytes_max) {
  PageJob job{.request = request};
  const Fault& fault = request.fault;
  const auto found = memory.table.FindLive(fault.region, EntryType::kRegion);
  // A region of the owner's address space reaches all guests that the owner has segments of.
  if (!found || ((*found)->guest != fault.guest && !IsAddressSpace(**found))) return job;
  const memory::ProtectionEntry& region = **found;
  uint64_t count =
      std::min(fault.page_count, std::max<uint64_t>(1, bytes_max / fault.page_shift.bytes()));
  if (fault.guest != memory::kHost) {
    const auto physical = PhysicalAddressOf(region, fault);
    const auto address = physical ? MachineAddressIn(memory, fault.guest, *physical) : std::nullopt;
    if (!address) return job;
    job.address = *address;
  } else if (fault.stage != memory::Stage::kFirst) {
    return job;
  } else if (IsAddressSpace(region)) {
    job.address = fault.first_page << fault.page_shift.value();
  } else if (region.table->is_linear()) {
    job.address = region.table->LinearAddress(fault.first_page).value();
    job.region_address = region.table->LinearAddress(0).value();
    job.region_bytes = region.table->page_count() * fault.page_shift.bytes();
  } else {
    count = AwayInARow(*region.table, fault.first_page, count);
    if (count > 0) job.address = region.table->Find(fault.first_page).address().value();
  }
  job.page_count = count;
  return job;
}

bool IsMapped(const memory::MemoryCore& memory, const PageJob& job) {
  const Fault& fault = job.request.fault;
  const auto found = memory.table.FindLive(fault.region, EntryType::kRegion);
  if (!found || job.page_count == 0 || fault.guest != memory::kHost) return false;
  const memory::ProtectionEntry& region = **found;
  if (IsAddressSpace(region)) {
    const memory::ConsumerId owner = memory.domains.Find(region.pd)->owner;
    const memory::PageTable& pages = *memory.consumers.Find(owner)->pages;
    return pages.Find(memory::VirtualAddress(job.address)).Allows(fault.for_write);
  }
  return fault.first_page < region.table->page_count() &&
         region.table->Find(fault.first_page).Allows(fault.for_write);
}

bool MapPages(memory::MemoryCore& memory, ResidencyScan& watch, const PageJob& job, Time now) {
  const Fault& fault = job.request.fault;
  if (job.paged_in == 0 || fault.guest != memory::kHost) return false;
  const auto found = memory.table.FindLive(fault.region, EntryType::kRegion);
  if (!found || (*found)->guest != memory::kHost) return false;
  bool mapped = false;
  // Without memory for the entries, the pages count as not available.
  static_cast<void>(WhenMemory([&] {
    mapped = IsAddressSpace(**found) ? MapInAddressSpace(memory, job, (*found)->pd)
                                     : MapInTable(memory, job, *(*found)->table);
  }));
  if (mapped) watch.Note(job.address, job.paged_in * fault.page_shift.bytes(), now);
  return mapped;
}

}  // namespace verbena::odp
