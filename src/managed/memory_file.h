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

// The memory itself: a file without a name and without a disk, mapped twice. The program's pointers
// lead into one mapping, which a CpuView protects and unmaps; the adapter and the pager use the
// other, which is always whole, so that they never fault on what the program may not see.
//
// Memory is used from the first access to a page of either view on, until Drop gives it back. A
// child of fork has neither view: it gets a clean fault where it would otherwise find zeros.
//
// The program's view may be meant for addresses where the program has other memory now. Then it is
// mapped aside until PutInPlace, and from then on it is not ours to unmap: see Takeover.
//
// Any thread may ask; the pager alone changes it.
class MemoryFile {
 public:
  // `size` is rounded up to granules; both views begin at a multiple of the granule.
  [[nodiscard]] static ErrorOr<std::unique_ptr<MemoryFile>> Make(uint64_t size, PageShift granule);
  // With the program's view aside. `place` is whole granules.
  [[nodiscard]] static ErrorOr<std::unique_ptr<MemoryFile>> MakeAside(std::span<std::byte> place,
                                                                      PageShift granule);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  // Where the program sees it, or will.
  [[nodiscard]] std::span<std::byte> cpu_view() const { return {cpu_, size_}; }
  // Where its view is as long as it is aside.
  [[nodiscard]] std::span<std::byte> aside() const { return {aside_, size_}; }
  // In one step, for all threads, in place of what is there. False, and errno, if it cannot be
  // done.
  [[nodiscard]] bool PutInPlace();
  [[nodiscard]] std::byte* adapter_view() const { return adapter_; }
  [[nodiscard]] PageShift granule() const { return granule_; }
  [[nodiscard]] uint32_t granule_count() const {
    return static_cast<uint32_t>(size_ >> granule_.value());
  }

  // Where the pager and the adapter find these granules.
  [[nodiscard]] std::span<std::byte> Contents(paging::Run run) const;

  void MakeZero(paging::Run run) const;
  // The contents are gone, and both views show it: a read finds zeros.
  void Drop(paging::Run run) const;

  // For a process that shares it.
  [[nodiscard]] int fd() const { return file_.get(); }
  // How much memory it uses now.
  [[nodiscard]] uint64_t resident_bytes() const;
  [[nodiscard]] bool IsResident(uint32_t granule) const;

 private:
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
