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
  uint64_t budget = 0;  // bytes of it in memory at a time: at least 16 pages
  // What comes and goes as one: a power of two from 4 KiB to 2 MiB. Larger ones cost less per byte
  // where the program goes through its memory in order.
  uint32_t page_bytes = 4'096;
  // Where what does not fit is kept: a directory, for a file without a name there, or a file.
  std::string swap = "/tmp";
  uint64_t swap_bytes_max = ~uint64_t{0};
  bool compress = true;
  // How accesses of the program are noticed: by userfaultfd where the system allows it, or, if
  // this is off or it does not, by signals.
  bool userfaults = true;
};

// Where a page of managed memory is.
enum class PagePlace : uint8_t {
  kNowhere,  // never written: zeros
  kInMemory,
  kSwapped,
  kLost,  // the swap file did not give it back as it was: accesses to it fail
};

struct ManagedMemoryReport {
  uint64_t budget = 0;    // bytes
  uint64_t resident = 0;  // bytes in memory now
  uint32_t page_bytes = 0;
  uint64_t program_faults = 0;    // accesses of the program that waited
  uint64_t adapter_requests = 0;  // requests of the adapter and of the program together
  uint64_t pages_read = 0;        // from the swap file, those ahead included
  uint64_t pages_read_ahead = 0;
  uint64_t pages_written = 0;
  uint64_t pages_dropped = 0;
  uint64_t pages_lost = 0;
  uint64_t swap_bytes_written = 0;  // after compression
  uint64_t swap_bytes_read = 0;
  bool store_is_full = false;
  bool store_is_failing = false;
  std::string noticed_by;  // how accesses are
  std::string stored_by;   // how the swap file is read and written
};

// Memory that may be larger than the memory it uses. The program reads and writes it like any
// other, and registers it, or parts of it, like any other; peers may read and write all of it. What
// does not fit the budget is in a swap file, and comes back when it is accessed; no other access
// waits meanwhile.
//
// An access of the program to a page that is lost raises SIGSEGV; one of the adapter is refused.
// A child of a fork must not touch it. It is registered by call and in one piece: it is no part of
// page lists, of registrations by work request, and of all that the process has.
// See docs/managed.md for what system calls may do with it.
class ManagedMemory : public Handle<verbs::ManagedMemoryObject> {
 public:
  [[nodiscard]] static ErrorOr<ManagedMemory> Create(const Context& context,
                                                     const ManagedMemoryOptions& options);
  ManagedMemory() = default;

  // REFUSES while a region is registered on it. When the handle ends instead, the memory stays
  // until the context does.
  [[nodiscard]] ErrorOr<void> Destroy();

  [[nodiscard]] std::span<std::byte> bytes() const;

  // More or less than before, at once or as soon as pages have been written.
  [[nodiscard]] ErrorOr<void> SetBudget(uint64_t bytes);
  // The contents of the pages that lie in it whole are given up: zeros from now on.
  [[nodiscard]] ErrorOr<void> Discard(uint64_t offset, uint64_t length);

  [[nodiscard]] ErrorOr<ManagedMemoryReport> Query() const;
  // Of each page, in order: for pictures.
  [[nodiscard]] ErrorOr<std::vector<PagePlace>> Places() const;

 private:
  explicit ManagedMemory(std::shared_ptr<verbs::ManagedMemoryObject> object)
      : Handle(std::move(object)) {}
};

}  // namespace verbena
