#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "managed/uffd_source.h"

namespace verbena::managed {

// Pages of the program's private memory, moved aside by one mremap, so that no thread writes to
// them meanwhile. Their original addresses ("home") stay mapped without pages. Threads that touch
// the home wait, also in system calls, until other memory is mapped there and Wake is called. Pages
// that return have the same mapping attributes as before.
//
// Owned by a Takeover. One thread at a time, which must not touch the home.
class ProgramPages {
 public:
  // A failure changes nothing. `home` is whole pages of one mapping.
  [[nodiscard]] static ErrorOr<std::unique_ptr<ProgramPages>> MoveAside(std::span<std::byte> home);
  ProgramPages(const ProgramPages&) = delete;
  ProgramPages& operator=(const ProgramPages&) = delete;
  // Pages that are not returned, lost or forgotten stay mapped: the program may still need them.
  ~ProgramPages() = default;

  // The pages at their present address, which the program does not know.
  [[nodiscard]] std::span<std::byte> aside() const { return aside_; }
  // Whether any of these pages was ever touched, according to the page map; at most 64 pages.
  [[nodiscard]] bool HasAny(uint64_t offset, uint64_t length) const;
  // Frees the memory of these pages, which become zero.
  void Empty(uint64_t offset, uint64_t length) const;

  // Moves these pages home, atomically for all threads.
  void Return(uint64_t offset, uint64_t length) const;
  // The contents of these are lost: an access at home raises SIGSEGV.
  void Lose(uint64_t offset, uint64_t length) const;
  // The program has unmapped the home of these.
  void Forget(uint64_t offset, uint64_t length) const;

  // Threads that wait at home retry the access.
  void Wake() const;

 private:
  ProgramPages(UffdSource source, std::span<std::byte> home, std::span<std::byte> aside);

  const UffdSource source_;
  const std::span<std::byte> home_;
  const std::span<std::byte> aside_;
  const FileDescriptor page_map_;  // /proc/self/pagemap
};

}  // namespace verbena::managed
