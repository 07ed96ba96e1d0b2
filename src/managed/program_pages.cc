#include "managed/program_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

// Missing from the headers of some supported systems.
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

namespace verbena::managed {

// Registers the home with the userfaultfd before its pages move: from then on an access finds no
// page, and waits.
ErrorOr<std::unique_ptr<ProgramPages>> ProgramPages::MoveAside(std::span<std::byte> home) {
  auto source = OpenForSystemCalls();
  if (!source) return Fail(std::move(source.error()));
  if (!AskFor(*source, 0)) return Fail(SystemError("userfaultfd"));
  void* const place =
      mmap(nullptr, home.size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return Fail(SystemError("addresses for the program's pages"));
  const std::span<std::byte> aside(static_cast<std::byte*>(place), home.size());
  std::unique_ptr<ProgramPages> pages(new ProgramPages(std::move(*source), home, aside));
  if (!Watch(pages->source_, home, UFFDIO_REGISTER_MODE_MISSING)) {
    const Error error = SystemError("a userfaultfd of the program's, or of page events, has it");
    munmap(place, home.size());
    return Fail(error);
  }
  constexpr int kHow = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  if (mremap(home.data(), home.size(), home.size(), kHow, place) == MAP_FAILED) {
    const Error error = SystemError("moving the program's pages (Linux 5.7)");
    Unwatch(pages->source_.file, RangeOf(home));
    munmap(place, home.size());
    return Fail(error);
  }
  return pages;
}

ProgramPages::ProgramPages(UffdSource source, std::span<std::byte> home, std::span<std::byte> aside)
    : source_(std::move(source)),
      home_(home),
      aside_(aside),
      page_map_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

// Reads the page map, because reading memory that was never used would cost a page fault per page.
bool ProgramPages::HasAny(uint64_t offset, uint64_t length) const {
  constexpr uint64_t kPage = 4096, kPresentOrSwapped = uint64_t{3} << 62;
  std::array<uint64_t, 64> entries{};
  const uint64_t count = length / kPage;
  CHECK(count <= entries.size());
  const auto first = reinterpret_cast<uintptr_t>(aside_.data() + offset) / kPage;
  const auto size = static_cast<ssize_t>(count * sizeof entries[0]);
  if (pread(page_map_.get(), entries.data(), static_cast<size_t>(size),
            static_cast<off_t>(first * sizeof entries[0])) != size) {
    return true;
  }
  return std::any_of(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(count),
                     [](uint64_t entry) { return (entry & kPresentOrSwapped) != 0; });
}

void ProgramPages::Empty(uint64_t offset, uint64_t length) const {
  const std::span<std::byte> pages = aside_.subspan(offset, length);
  CHECK(madvise(pages.data(), pages.size(), MADV_DONTNEED) == 0);
}

// Ends the process if it has no mapping left, because threads wait for these bytes.
void ProgramPages::Return(uint64_t offset, uint64_t length) const {
  CHECK(mremap(aside_.data() + offset, length, length, MREMAP_MAYMOVE | MREMAP_FIXED,
               home_.data() + offset) != MAP_FAILED);
}

void ProgramPages::Lose(uint64_t offset, uint64_t length) const {
  CHECK(mmap(home_.data() + offset, length, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED);
  Forget(offset, length);
}

void ProgramPages::Forget(uint64_t offset, uint64_t length) const {
  munmap(aside_.data() + offset, length);
}

// Wakes by range rather than by closing the file: a forked child may have the file open, too.
void ProgramPages::Wake() const {
  uffdio_range range = RangeOf(home_);
  ioctl(source_.file.get(), UFFDIO_WAKE, &range);
}

}  // namespace verbena::managed
