#include "managed/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/file_size_signal.h"
#include "base/page.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace verbena::managed {
namespace {

// A range of `size` unused bytes of the address space, at a multiple of `alignment`; nullptr if
// there is none.
std::byte* ReserveAddresses(uint64_t size, uint64_t alignment) {
  void* const place = mmap(nullptr, size + alignment, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(place);
  const uint64_t before = (alignment - reinterpret_cast<uintptr_t>(first) % alignment) % alignment;
  if (before > 0) munmap(first, before);
  munmap(first + before + size, alignment - before);
  return first + before;
}

}  // namespace

ErrorOr<std::unique_ptr<MemoryFile>> MemoryFile::MakeFile(uint64_t size, PageShift granule) {
  const std::optional<uint64_t> rounded = RoundUp(size, granule);
  if (size == 0 || !rounded || *rounded >> granule.value() > UINT32_MAX) {
    return Fail(SystemError(EINVAL, "managed memory has 1 to 2^32 granules"));
  }
  FileDescriptor file(memfd_create("verbena-managed", MFD_CLOEXEC));
  if (!file.is_open()) return Fail(SystemError("memfd_create"));
  const NoFileSizeSignal no_signal;
  if (ftruncate(file.get(), static_cast<off_t>(*rounded)) != 0) {
    if (errno == EFBIG) {
      return Fail(SystemError(
          EFBIG,
          "managed memory is a file in memory, longer than the limit of file sizes (ulimit -f)"));
    }
    return Fail(SystemError("size of managed memory"));
  }
  std::unique_ptr<MemoryFile> memory(new MemoryFile(std::move(file), *rounded, granule));
  memory->adapter_ = memory->MapView();
  if (memory->adapter_ == nullptr) return Fail(SystemError("mapping of managed memory"));
  return memory;
}

ErrorOr<std::unique_ptr<MemoryFile>> MemoryFile::Make(uint64_t size, PageShift granule) {
  auto memory = MakeFile(size, granule);
  if (!memory) return memory;
  (*memory)->cpu_ = (*memory)->MapView();
  if ((*memory)->cpu_ == nullptr) return Fail(SystemError("mapping of managed memory"));
  return memory;
}

ErrorOr<std::unique_ptr<MemoryFile>> MemoryFile::MakeAside(std::span<std::byte> place,
                                                           PageShift granule) {
  CHECK(reinterpret_cast<uintptr_t>(place.data()) % granule.bytes() == 0 &&
        place.size() % granule.bytes() == 0);
  auto memory = MakeFile(place.size(), granule);
  if (!memory) return memory;
  (*memory)->cpu_ = place.data();
  (*memory)->owns_cpu_ = false;
  (*memory)->aside_ = (*memory)->MapView();
  if ((*memory)->aside_ == nullptr) return Fail(SystemError("mapping of managed memory"));
  return memory;
}

MemoryFile::~MemoryFile() {
  for (std::byte* const view : {owns_cpu_ ? cpu_ : aside_, adapter_}) {
    if (view != nullptr) munmap(view, size_);
  }
}

bool MemoryFile::PutInPlace() {
  CHECK(aside_ != nullptr);
  void* const moved = mremap(aside_, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, cpu_);
  if (moved == MAP_FAILED) return false;
  aside_ = nullptr;
  return true;
}

// nullptr, and errno, on failure.
std::byte* MemoryFile::MapView() const {
  std::byte* const place = ReserveAddresses(size_, granule_.bytes());
  if (place == nullptr) return nullptr;
  if (mmap(place, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
           file_.get(), 0) == MAP_FAILED ||
      madvise(place, size_, MADV_DONTFORK) != 0) {
    const int error = errno;
    munmap(place, size_);
    errno = error;
    return nullptr;
  }
  return place;
}

std::span<std::byte> MemoryFile::Contents(paging::Run run) const {
  CHECK(run.end() <= granule_count());
  return {adapter_ + uint64_t{run.first} * granule_.bytes(), run.count * granule_.bytes()};
}

void MemoryFile::Allocate(paging::Run run) const {
  const std::span<std::byte> contents = Contents(run);
  if (contents.size() > kPageBytes && !WriteZeros(contents)) {
    madvise(contents.data(), contents.size(), MADV_POPULATE_WRITE);
  }
}

void MemoryFile::MakeZero(paging::Run run) const {
  const std::span<std::byte> contents = Contents(run);
  if (contents.size() > kPageBytes && WriteZeros(contents)) return;
  // Pages that are not new have old contents.
  std::memset(contents.data(), 0, contents.size());
}

// A write allocates pages for less than page faults do, and afterwards one fault maps several of
// them. Where the system refuses a call (a limit of file sizes that was lowered; Linux
// before 5.14), the first access of each page faults it in.
bool MemoryFile::WriteZeros(std::span<const std::byte> contents) const {
  static constexpr std::array<std::byte, kPageBytes> kZeros{};
  std::array<iovec, 256> parts;
  parts.fill({const_cast<std::byte*>(kZeros.data()), kZeros.size()});
  const NoFileSizeSignal no_signal;
  for (size_t done = 0; done < contents.size();) {
    const size_t pages = std::min((contents.size() - done) / kPageBytes, parts.size());
    const auto offset = static_cast<off_t>(contents.data() + done - adapter_);
    const ssize_t written = pwritev(file_.get(), parts.data(), static_cast<int>(pages), offset);
    if (written != static_cast<ssize_t>(pages * kPageBytes)) return false;
    done += pages * kPageBytes;
  }
  madvise(const_cast<std::byte*>(contents.data()), contents.size(), MADV_POPULATE_READ);
  return true;
}

void MemoryFile::Drop(paging::Run run) const {
  const std::span<std::byte> contents = Contents(run);
  while (fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                   contents.data() - adapter_, static_cast<off_t>(contents.size())) != 0) {
    CHECK(errno == EINTR);
  }
}

uint64_t MemoryFile::resident_bytes() const {
  constexpr uint64_t kBlock = 512;
  struct stat status {};
  CHECK(fstat(file_.get(), &status) == 0);
  return static_cast<uint64_t>(status.st_blocks) * kBlock;
}

bool MemoryFile::IsResident(uint32_t granule) const {
  const std::span<std::byte> contents = Contents({granule, 1});
  std::array<unsigned char, 64> pages;
  for (size_t at = 0; at < contents.size(); at += pages.size() * kPageBytes) {
    const size_t length = std::min(contents.size() - at, pages.size() * kPageBytes);
    CHECK(mincore(contents.data() + at, length, pages.data()) == 0);
    const std::span asked(pages.data(), length / kPageBytes);
    if (std::any_of(asked.begin(), asked.end(), [](auto page) { return (page & 1) != 0; })) {
      return true;
    }
  }
  return false;
}

}  // namespace verbena::managed
