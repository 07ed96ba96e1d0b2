#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verbena/context.h"
#include "verbena/error.h"
#include "verbena/handle.h"

namespace verbena {

namespace verbs {
struct ManagedMemoryObject;
}

struct ManagedMemoryOptions {
  uint64_t size = 0;    // in bytes; rounded up to pages
  uint64_t budget = 0;  // bytes that are in memory at a time: at least 16 pages
  // The unit in which memory is paged in and evicted: a power of two from 4 KiB to 2 MiB. Larger
  // pages cost less per byte if the program accesses its memory in order.
  uint32_t page_bytes = 4'096;
  // Where evicted pages are kept: in an unnamed file in this directory, or in this file.
  std::string swap = "/tmp";
  uint64_t swap_bytes_max = ~uint64_t{0};
  bool compress = true;
  // Whether to catch accesses of the program by userfaultfd, where the system allows it. If this is
  // off, or the system does not allow it, they are caught by SIGSEGV.
  bool userfaults = true;
};

// Where the contents of a page of managed memory are.
enum class PagePlace : uint8_t {
  kNowhere,  // never written: zeros
  kInMemory,
  kSwapped,
  kLost,  // the swap file returned an error or other bytes: accesses to the page fail
};

struct ManagedMemoryReport {
  uint64_t budget = 0;    // bytes
  uint64_t resident = 0;  // bytes in memory now
  uint32_t page_bytes = 0;
  uint64_t program_faults = 0;    // page faults of the program
  uint64_t adapter_requests = 0;  // requests for pages, by the adapter and by the program
  uint64_t pages_read = 0;        // from the swap file, including pages read ahead
  uint64_t pages_read_ahead = 0;
  uint64_t pages_written = 0;
  uint64_t pages_dropped = 0;
  uint64_t pages_lost = 0;
  uint64_t swap_bytes_written = 0;  // after compression
  uint64_t swap_bytes_read = 0;
  bool store_is_full = false;
  bool store_is_failing = false;
  std::string noticed_by;  // how accesses of the program are caught
  std::string stored_by;   // how the swap file is read and written
};

// Memory of which only a budget is resident. The program reads, writes and registers it, or parts
// of it, like any other memory, and peers can read and write all of it. Pages beyond the budget are
// in a swap file, and are paged in when they are accessed; accesses to other pages do not wait
// meanwhile.
//
// A lost page raises SIGSEGV when the program accesses it; accesses of the adapter are refused. A
// forked child must not touch the memory. Register it by call, as one range: page lists,
// registrations by work request and the region of the whole address space cannot contain it.
// See docs/managed.md for the system calls that can be used on it.
class ManagedMemory : public Handle<verbs::ManagedMemoryObject> {
 public:
  [[nodiscard]] static ErrorOr<ManagedMemory> Create(const Context& context,
                                                     const ManagedMemoryOptions& options);
  ManagedMemory() = default;

  // REFUSES while a region is registered on it. The destructor leaves the memory to the adapter in
  // this case, until the last context of the adapter is closed.
  [[nodiscard]] ErrorOr<void> Destroy();

  [[nodiscard]] std::span<std::byte> bytes() const;

  // Changes the budget. A smaller one takes effect when enough pages have been written to swap.
  [[nodiscard]] ErrorOr<void> SetBudget(uint64_t bytes);
  // Drops the contents of the pages that lie in the range as a whole: they read as zeros then.
  [[nodiscard]] ErrorOr<void> Discard(uint64_t offset, uint64_t length);

  [[nodiscard]] ErrorOr<ManagedMemoryReport> Query() const;
  // One entry per page, in order: for displays.
  [[nodiscard]] ErrorOr<std::vector<PagePlace>> Places() const;

 private:
  explicit ManagedMemory(std::shared_ptr<verbs::ManagedMemoryObject> object)
      : Handle(std::move(object)) {}
};

}  // namespace verbena
