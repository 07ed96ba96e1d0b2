#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/page.h"
#include "paging/action.h"

namespace verbena::managed {

// The memory of an arena: a memfd, mapped twice. The program uses one mapping, which a CpuView
// protects and unmaps. The adapter and the pager use the other, which is always complete, so that
// they do not fault on granules that are unmapped from the program's view.
//
// A page takes memory from the first access in either view until Drop frees it. A forked child has
// neither view: an access there raises SIGSEGV instead of reading zeros.
//
// If the program has other memory at the address of its view (see Takeover), the view is mapped
// elsewhere until PutInPlace. After that the destructor does not unmap it.
//
// Any thread can query it; only the pager changes it.
class MemoryFile {
 public:
  // `size` is rounded up to granules; both views begin at a multiple of the granule.
  [[nodiscard]] static ErrorOr<std::unique_ptr<MemoryFile>> Make(uint64_t size, PageShift granule);
  // With the program's view mapped elsewhere until PutInPlace. `place` is whole granules.
  [[nodiscard]] static ErrorOr<std::unique_ptr<MemoryFile>> MakeAside(std::span<std::byte> place,
                                                                      PageShift granule);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  // The program's view, at its final address.
  [[nodiscard]] std::span<std::byte> cpu_view() const { return {cpu_, size_}; }
  // The address of the program's view before PutInPlace.
  [[nodiscard]] std::span<std::byte> aside() const { return {aside_, size_}; }
  // Moves the program's view to its final address, atomically for all threads. Returns false, and
  // sets errno, on failure.
  [[nodiscard]] bool PutInPlace();
  [[nodiscard]] std::byte* adapter_view() const { return adapter_; }
  [[nodiscard]] PageShift granule() const { return granule_; }
  [[nodiscard]] uint32_t granule_count() const {
    return static_cast<uint32_t>(size_ >> granule_.value());
  }

  // These granules in the adapter's view.
  [[nodiscard]] std::span<std::byte> Contents(paging::Run run) const;

  // Gets memory for granules that have none, at once if they are several. Reads as zeros.
  void Allocate(paging::Run run) const;
  void MakeZero(paging::Run run) const;
  // Frees the memory of the granules. Both views read zeros.
  void Drop(paging::Run run) const;

  // For a process that shares it.
  [[nodiscard]] int fd() const { return file_.get(); }
  // The memory in use.
  [[nodiscard]] uint64_t resident_bytes() const;
  [[nodiscard]] bool IsResident(uint32_t granule) const;

 private:
  [[nodiscard]] bool WriteZeros(std::span<const std::byte> contents) const;
  MemoryFile(FileDescriptor file, uint64_t size, PageShift granule)
      : file_(std::move(file)), size_(size), granule_(granule) {}

  [[nodiscard]] static ErrorOr<std::unique_ptr<MemoryFile>> MakeFile(uint64_t size,
                                                                     PageShift granule);

  [[nodiscard]] std::byte* MapView() const;

  const FileDescriptor file_;
  const uint64_t size_;
  const PageShift granule_;
  std::byte* cpu_ = nullptr;
  std::byte* aside_ = nullptr;  // nullptr: not aside
  bool owns_cpu_ = true;
  std::byte* adapter_ = nullptr;
};

}  // namespace verbena::managed
