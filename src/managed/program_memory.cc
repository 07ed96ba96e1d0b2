#include "managed/program_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "base/file_descriptor.h"
#include "base/page.h"
#include "memory/copy/guarded_copy.h"

// Missing from the headers of some supported systems.
#ifndef MADV_COLD
#define MADV_COLD 20
#endif

namespace verbena::managed {
namespace {

uint64_t PageOf(uint64_t address) { return address / kPageBytes * kPageBytes; }
uint64_t PageEndOf(uint64_t end) { return PageOf(end + kPageBytes - 1); }

// Addresses, both on page borders.
struct Range {
  uint64_t first = 0;
  uint64_t end = 0;
};

template <size_t N>
std::optional<std::array<uint64_t, N>> Words(uint64_t address) {
  std::array<uint64_t, N> words{};
  const auto copied =
      memory::GuardedCopy(words.data(), reinterpret_cast<const void*>(address), sizeof words);
  if (copied.fault) return std::nullopt;
  return words;
}

// The pages that the C library's malloc has mapped for the block at `block`, computed from the
// chunk header before it: its distance from the first page, and the size with flags. If these bytes
// only look like a header, the program has written them, so these pages are the program's as well.
std::optional<Range> OwnMapping(uint64_t block, const Mapping& mapping) {
  constexpr uint64_t kNote = 16, kMarks = 7, kIsMapped = 2;
  if (block % kNote != 0 || block < mapping.first + kNote) return std::nullopt;
  const auto words = Words<2>(block - kNote);
  if (!words || ((*words)[1] & kMarks) != kIsMapped) return std::nullopt;
  const uint64_t before = (*words)[0], size = (*words)[1] & ~kMarks;
  const uint64_t note = block - kNote;
  if (before > note - mapping.first || size > mapping.end - note) return std::nullopt;
  const Range range{note - before, note + size};
  if (range.first % kPageBytes != 0 || range.end % kPageBytes != 0) return std::nullopt;
  return range;
}

// Whether the byte lies in a heap that malloc has for threads other than the first. Such a heap
// begins at a multiple of 64 MiB with a header: its arena, the previous heap, and two sizes.
bool IsInHeap(uint64_t address, const Mapping& mapping) {
  constexpr uint64_t kHeapMax = uint64_t{64} << 20;
  const uint64_t heap = address / kHeapMax * kHeapMax;
  if (heap < mapping.first) return false;
  const auto note = Words<4>(heap);
  if (!note) return false;
  const auto [arena, previous, size, accessible] = *note;
  const auto is_size = [](uint64_t value) { return value % kPageBytes == 0 && value <= kHeapMax; };
  return arena != 0 && arena % 8 == 0 && previous % kHeapMax == 0 && is_size(size) &&
         is_size(accessible) && size <= accessible && address - heap < accessible;
}

std::optional<std::string> WhyNot(const Mapping& mapping) {
  if (mapping.name == "[heap]") return "is of the heap that malloc keeps for small blocks";
  if (mapping.name.starts_with("[stack")) return "is a stack";
  if (!mapping.name.empty() && !mapping.name.starts_with("[anon")) {
    return "is mapped from a file or device, shared, or of huge pages";
  }
  if (mapping.rights != "rw-p") return "is shared, or not both readable and writable";
  return std::nullopt;
}

std::string ReadMaps() {
  const FileDescriptor file(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t length = 1; length > 0;) {
    length = read(file.get(), part.data(), part.size());
    if (length > 0) text.append(part.data(), static_cast<size_t>(length));
  }
  return text;
}

// madvise refuses this advice for memory that is locked or not ordinary. The advice changes no
// bytes.
bool IsOrdinary(const Range& pages) {
  return madvise(reinterpret_cast<void*>(pages.first), pages.end - pages.first, MADV_COLD) == 0;
}

}  // namespace

std::optional<Mapping> Mapping::Parse(const std::string& line) {
  uint64_t first = 0, end = 0;
  std::array<char, 5> rights{};
  int name_at = 0;
  // The fields between rights and name are offset, device and inode.
  const int count = std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &first,
                                &end, rights.data(), &name_at);
  if (count != 3) return std::nullopt;
  return Mapping{first, end, rights.data(), line.substr(static_cast<size_t>(name_at))};
}

std::optional<Mapping> FindMapping(uint64_t address) {
  const std::string maps = ReadMaps();
  for (size_t at = 0; at < maps.size();) {
    const size_t end = std::min(maps.find('\n', at), maps.size());
    auto mapping = Mapping::Parse(maps.substr(at, end - at));
    if (mapping && mapping->first <= address && address < mapping->end) return mapping;
    at = end + 1;
  }
  return std::nullopt;
}

Result<std::span<std::byte>, std::string> TakeoverPages(std::span<const std::byte> bytes) {
  const auto first = reinterpret_cast<uintptr_t>(bytes.data());
  const uint64_t end = first + bytes.size();
  if (bytes.size() < kTakeoverMin) return Fail(std::string("is smaller than 256 KiB"));
  const Range pages{PageOf(first), PageEndOf(end)};
  const auto stack = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (pages.first <= stack && stack < pages.end) return Fail(std::string("is a stack"));
  const auto mapping = FindMapping(first);
  if (!mapping) return Fail(std::string("is not mapped"));
  if (auto why = WhyNot(*mapping)) return Fail(std::move(*why));
  if (pages.end > mapping->end) return Fail(std::string("is of several mappings"));
  const auto own = OwnMapping(first, *mapping);
  const bool is_own = own && pages.end <= own->end;
  if (!is_own && (first != pages.first || end != pages.end)) {
    return Fail(std::string("begins or ends inside a page that others may use, too"));
  }
  if (!is_own && IsInHeap(first, *mapping)) {
    return Fail(std::string("is of a heap that malloc keeps for small blocks"));
  }
  if (!IsOrdinary(pages)) return Fail(std::string("is locked in memory, or not ordinary memory"));
  return std::span(reinterpret_cast<std::byte*>(pages.first), pages.end - pages.first);
}

}  // namespace verbena::managed
