#include "base/mappings.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "base/page.h"

namespace verbena {
namespace {

using Lack = Mappings::Lack;

constexpr char kMapsFile[] = "/proc/self/maps";

struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  bool readable = false;
  bool writable = false;
  bool shared = false;
};

// From Linux's uapi/linux/fs.h, which the headers of older systems lack.
struct MapQuery {
  uint64_t size = sizeof(MapQuery);
  uint64_t query_flags = 0;
  uint64_t query_address = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t flags = 0;
  uint64_t page_size = 0;
  uint64_t offset = 0;
  uint64_t inode = 0;
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint32_t name_size = 0;
  uint32_t build_id_size = 0;
  uint64_t name_address = 0;
  uint64_t build_id_address = 0;
};
static_assert(sizeof(MapQuery) == 104);
constexpr uint64_t kReadable = 1 << 0;
constexpr uint64_t kWritable = 1 << 1;
constexpr uint64_t kShared = 1 << 3;
constexpr uint64_t kCoveringOrNext = 1 << 4;
const unsigned long kMapQuery = _IOWR('f', 17, MapQuery);

enum class Found : uint8_t { kMapping, kNone, kCannotTell };

// The mapping that covers `address`, or the next one behind it.
Found Query(int maps, uint64_t address, Mapping& out) {
  MapQuery query{.query_flags = kCoveringOrNext, .query_address = address};
  if (ioctl(maps, kMapQuery, &query) != 0) {
    return errno == ENOENT ? Found::kNone : Found::kCannotTell;
  }
  out = {query.start, query.end, (query.flags & kReadable) != 0, (query.flags & kWritable) != 0,
         (query.flags & kShared) != 0};
  return Found::kMapping;
}

// Reads "start-end rwxp ..." line by line, in the order of addresses.
class MapsText {
 public:
  MapsText() : file_(open(kMapsFile, O_RDONLY | O_CLOEXEC)) {}

  [[nodiscard]] bool is_open() const { return file_.is_open(); }

  Found Next(Mapping& out) {
    out.start = Number();
    out.end = Number();
    out.readable = Character() == 'r';
    out.writable = Character() == 'w';
    static_cast<void>(Character());  // executable
    out.shared = Character() == 's';
    int c = Character();
    while (c != '\n' && c != kEnd) c = Character();
    return c == kEnd ? Found::kNone : Found::kMapping;
  }

 private:
  static constexpr int kEnd = -1;

  int Character() {
    if (at_ == size_) {
      const ssize_t got = read(file_.get(), buffer_.data(), buffer_.size());
      if (got <= 0) return kEnd;
      at_ = 0;
      size_ = static_cast<size_t>(got);
    }
    return static_cast<unsigned char>(buffer_[at_++]);  // never kEnd: names can have any byte
  }

  // Reads a hexadecimal number and the one character behind it.
  uint64_t Number() {
    uint64_t number = 0;
    for (int c = Character();; c = Character()) {
      if (c >= '0' && c <= '9') {
        number = number << 4 | static_cast<unsigned>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        number = number << 4 | static_cast<unsigned>(c - 'a' + 10);
      } else {
        return number;
      }
    }
  }

  const FileDescriptor file_;
  std::array<char, 4'096> buffer_;  // the kernel returns no more at once
  size_t at_ = 0;
  size_t size_ = 0;
};

struct Answer {
  bool is_known = false;
  std::optional<Lack> lack = {};
};

enum class Wanted : uint8_t { kRead, kWrite, kPrivate };

// The same rule as for pinning: a write needs no right to read, because the processor grants both.
bool Has(const Mapping& mapping, Wanted wanted) {
  switch (wanted) {
    case Wanted::kRead:
      return mapping.readable;
    case Wanted::kWrite:
      return mapping.writable;
    case Wanted::kPrivate:
      return !mapping.shared;
  }
  return false;
}

// next(address, mapping) finds the first mapping that ends behind the address.
template <class Next>
Answer Walk(uint64_t first, uint64_t end, Wanted wanted, Next next) {
  for (uint64_t at = first; at < end;) {
    Mapping mapping;
    const Found found = next(at, mapping);
    if (found == Found::kCannotTell) return {};
    if (found == Found::kNone || mapping.start > at) return {true, Lack{at, false}};
    if (!Has(mapping, wanted)) return {true, Lack{at, true}};
    at = mapping.end;
  }
  return {.is_known = true};
}

Answer WalkText(uint64_t first, uint64_t end, Wanted wanted) {
  MapsText text;
  if (!text.is_open()) return {};
  return Walk(first, end, wanted, [&](uint64_t address, Mapping& out) {
    Found found = text.Next(out);
    while (found == Found::kMapping && out.end <= address) found = text.Next(out);
    return found;
  });
}

// Since Linux 2.6.19 MS_ASYNC only checks for unmapped pages.
bool IsMapped(uint64_t first, uint64_t end) {
  return msync(reinterpret_cast<void*>(first), end - first, MS_ASYNC) == 0 || errno != ENOMEM;
}

}  // namespace

Mappings::Mappings(Method best) : method_(best) {
  if (method_ == Method::kQuery) {
    FileDescriptor maps(open(kMapsFile, O_RDONLY | O_CLOEXEC));
    Mapping any;
    if (maps.is_open() && Query(maps.get(), 0, any) == Found::kMapping) {
      maps_ = std::move(maps);
    } else {
      method_ = Method::kText;
    }
  }
  if (method_ == Method::kText && !MapsText().is_open()) method_ = Method::kHoles;
}

namespace {

Answer WalkBest(int maps, Mappings::Method method, uint64_t first, uint64_t end, Wanted wanted) {
  Answer answer;
  if (maps >= 0) {
    answer = Walk(first, end, wanted,
                  [maps](uint64_t at, Mapping& out) { return Query(maps, at, out); });
  }
  // Also if the program has closed our file, or forbidden the call.
  if (!answer.is_known && method != Mappings::Method::kHoles) answer = WalkText(first, end, wanted);
  return answer;
}

uint64_t EndOf(uint64_t address, uint64_t length) {
  return RoundDown(address + (length - 1), kBasePage) + kBasePage.bytes();
}

}  // namespace

std::optional<Lack> Mappings::Check(uint64_t address, uint64_t length, bool for_write) const {
  if (length == 0) return std::nullopt;
  const uint64_t first = RoundDown(address, kBasePage);
  const uint64_t end = EndOf(address, length);
  if (end <= first) return Lack{first, false};  // the range reaches the end of the address space
  const Wanted wanted = for_write ? Wanted::kWrite : Wanted::kRead;
  const Answer answer = WalkBest(maps_.get(), method_, first, end, wanted);
  if (answer.is_known) return answer.lack;
  return IsMapped(first, end) ? std::nullopt : std::optional(Lack{first, false});
}

bool Mappings::IsPrivate(uint64_t address, uint64_t length) const {
  if (length == 0) return true;
  const uint64_t first = RoundDown(address, kBasePage);
  const uint64_t end = EndOf(address, length);
  if (end <= first) return false;
  const Answer answer = WalkBest(maps_.get(), method_, first, end, Wanted::kPrivate);
  return answer.is_known && !answer.lack;
}

}  // namespace verbena
