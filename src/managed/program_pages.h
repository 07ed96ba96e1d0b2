#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "managed/uffd_source.h"

namespace verbena::managed {

// The pages of a piece of the program's private memory, moved aside in one step, so that no byte is
// written meanwhile. Their home stays mapped and empty, and threads that touch it wait, in system
// calls, too, until something else was put there and Wake was called. They are the same mappings
// with the same properties when they return.
//
// Owned by an Takeover. One thread at a time, which must not touch the home.
class ProgramPages {
 public:
  // Fails with nothing changed. `home` is whole pages, of one mapping.
  [[nodiscard]] static ErrorOr<std::unique_ptr<ProgramPages>> MoveAside(std::span<std::byte> home);
  ProgramPages(const ProgramPages&) = delete;
  ProgramPages& operator=(const ProgramPages&) = delete;
  // What was not returned, lost or forgotten stays where it is: its owner is not known.
  ~ProgramPages() = default;

  // Where they are now; ours alone.
  [[nodiscard]] std::span<std::byte> aside() const { return aside_; }
  // Whether one of these was ever touched, as far as the system says; up to 64 pages.
  [[nodiscard]] bool HasAny(uint64_t offset, uint64_t length) const;
  // Their memory is given back to the system: zeros from now on.
  void Empty(uint64_t offset, uint64_t length) const;

  // These go home, in place of what is there; for all threads at once.
  void Return(uint64_t offset, uint64_t length) const;
  // The contents of these are lost: a thread that touches them at home gets SIGSEGV.
  void Lose(uint64_t offset, uint64_t length) const;
  // The home of these is gone.
  void Forget(uint64_t offset, uint64_t length) const;

  // Threads that wait at home look again.
  void Wake() const;

 private:
  ProgramPages(UffdSource source, std::span<std::byte> home, std::span<std::byte> aside);

  const UffdSource source_;
  const std::span<std::byte> home_;
  const std::span<std::byte> aside_;
  const FileDescriptor page_map_;  // what the system knows of each page
};

}  // namespace verbena::managed
