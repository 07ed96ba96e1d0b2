#include "adapter/page_jobs.h"

#include <algorithm>

#include "memory/address.h"
#include "memory/protection_entry.h"

namespace verbena::adapter {
namespace {

using memory::EntryType;
using memory::Fault;

// Regions of the owner's own address space count pages from address 0.
bool IsAddressSpace(const memory::ProtectionEntry& region) { return region.table == nullptr; }

}  // namespace

PageJob JobFor(const memory::MemoryCore& memory, const transport::PageRequest& request,
               uint64_t bytes_max) {
  PageJob job{.request = request};
  const Fault& fault = request.fault;
  const auto found = memory.table.FindLive(fault.region, EntryType::kRegion);
  if (!found || fault.stage != memory::Stage::kFirst) return job;
  const memory::ProtectionEntry& region = **found;
  if (IsAddressSpace(region)) {
    job.address = fault.first_page << fault.page_shift.value();
  } else if (region.table->is_linear()) {
    job.address = region.table->LinearAddress(fault.first_page).value();
  } else {
    return job;
  }
  const uint64_t most = std::max<uint64_t>(1, bytes_max / fault.page_shift.bytes());
  job.page_count = std::min(fault.page_count, most);
  return job;
}

bool MapPages(memory::MemoryCore& memory, const PageJob& job) {
  if (job.brought == 0) return false;
  const Fault& fault = job.request.fault;
  const auto found = memory.table.FindLive(fault.region, EntryType::kRegion);
  if (!found) return false;
  if (!IsAddressSpace(**found)) {
    return memory.regions.MapPages(fault.region, fault.first_page, job.brought, {}, fault.for_write)
        .has_value();
  }
  const memory::ConsumerId owner = memory.domains.Find((*found)->pd)->owner;
  for (uint64_t i = 0; i < job.brought; ++i) {
    const uint64_t page = job.address + i * fault.page_shift.bytes();
    const auto mapped = memory.consumers.MapLocalPage(
        owner, memory::VirtualAddress(page), memory::PhysicalAddress(page), fault.for_write);
    if (!mapped) return false;
  }
  return true;
}

}  // namespace verbena::adapter
