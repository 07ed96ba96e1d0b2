#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "base/random.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace verbena::torture {

constexpr uint64_t kPage = 4'096;

// The beginning of a page is the program's, and bears stamps. What follows is in parts, each of
// which one writes.
constexpr uint64_t kStampBytes = 2'048;
constexpr uint64_t kPartBytes = 256;

enum class Part : uint64_t {
  kFarWrites,
  kNearWrites,
  kFarAtomics,
  kNearAtomics,
  kFarReceives,
  kNearReceives,
  kUnreliableReceives,
  kOwnReads,
};
constexpr uint64_t OffsetOf(Part part) {
  return kStampBytes + static_cast<uint64_t>(part) * kPartBytes;
}
static_assert(OffsetOf(Part::kOwnReads) + kPartBytes == kPage);

// A page's life: even while it is what it is said to be, odd while it changes. Shared by processes.
using Epoch = std::atomic<uint32_t>;

constexpr uint64_t StampOf(uint64_t slot, uint32_t epoch) {
  return uint64_t{0xA5} << 56 | slot << 32 | epoch;
}

inline uint64_t WordAt(const std::byte* place) {
  uint64_t word = 0;
  std::memcpy(&word, place, sizeof word);
  return word;
}

// Unlike any stamp.
constexpr uint64_t MessageWord(uint32_t count) { return ~StampOf(0, count); }
inline void FillWords(std::byte* place, uint64_t bytes, uint64_t word) {
  for (uint64_t at = 0; at < bytes; at += sizeof word) std::memcpy(place + at, &word, sizeof word);
}

// What an access that met the epochs `before` and `after` may have seen in a word of the program's
// part: nothing that is older than it was, and nothing of another page. Fresh pages are zero. A
// word that the program stores meanwhile may be seen in part: a read promises bytes, only an atomic
// words.
inline bool MayBeSeen(uint64_t word, uint64_t slot, uint32_t before, uint32_t after) {
  const bool was_stable = before == after && before % 2 == 0;
  if (was_stable) return word == StampOf(slot, before);
  for (uint64_t byte = uint64_t{0xFF}; byte != 0; byte <<= 8) {
    bool may_be = (word & byte) == 0;
    // While a page changes it gets the stamp of its next life.
    for (uint32_t epoch = before - before % 2; !may_be && epoch <= after + after % 2; epoch += 2) {
      may_be = (word & byte) == (StampOf(slot, epoch) & byte);
    }
    if (!may_be) return false;
  }
  return true;
}

// Pages of a program that does to them whatever a program may do, each with a lock of its own, so
// that several threads can. Of a file, or anonymous.
//
// Thread rule: any thread.
class Arena {
 public:
  // `epochs` has a place for each page.
  Arena(uint64_t first_slot, uint64_t pages, bool of_file, Epoch* epochs)
      : first_slot_(first_slot), pages_(pages), epochs_(epochs), locks_(pages) {
    if (of_file) {
      file_ = memfd_create("torture", MFD_CLOEXEC);
      CHECK(file_ >= 0 && ftruncate(file_, static_cast<off_t>(bytes())) == 0);
    }
    void* const place = Map(nullptr, pages, 0, PROT_READ | PROT_WRITE);
    CHECK(place != MAP_FAILED);
    start_ = static_cast<std::byte*>(place);
    away_ = static_cast<std::byte*>(Map(nullptr, pages, 0, PROT_NONE));
    for (uint64_t page = 0; page < pages; ++page) Stamp(page);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    munmap(start_, bytes());
    munmap(away_, bytes());
    if (file_ >= 0) close(file_);
  }

  std::byte* page(uint64_t i) const { return start_ + i * kPage; }
  uint64_t pages() const { return pages_; }
  uint64_t bytes() const { return pages_ * kPage; }
  uint64_t slot(uint64_t page) const { return first_slot_ + page; }
  const Epoch& epoch(uint64_t page) const { return epochs_[page]; }

  // Whether the program sees nothing but `word` there; true also if the page has changed since
  // `epoch`, or was changing then.
  bool Holds(uint64_t page, uint64_t offset, uint64_t bytes, uint64_t word, uint32_t epoch) {
    const std::lock_guard lock(locks_[page]);
    if (epoch % 2 != 0 || epochs_[page].load() != epoch) return true;
    for (uint64_t at = 0; at < bytes; at += sizeof word) {
      if (WordAt(this->page(page) + offset + at) != word) return false;
    }
    return true;
  }

  // Something that programs do, to a few pages. How many kinds there are: kKinds.
  static constexpr uint64_t kKinds = 12;
  void Torment(Random& random) {
    const uint64_t kind = random.Below(kKinds);
    const bool is_of_all = kind == 11 && file_ >= 0;
    const uint64_t count = is_of_all ? pages_ : 1 + random.Below(std::min<uint64_t>(pages_, 8));
    const uint64_t first = random.Below(pages_ - count + 1);
    std::vector<std::unique_lock<std::mutex>> held;
    for (uint64_t i = first; i < first + count; ++i) held.emplace_back(locks_[i]);
    if (kind < 5) return Advise(kind, first, count);
    for (uint64_t i = first; i < first + count; ++i) epochs_[i].fetch_add(1);
    Change(kind, first, count, random);
    for (uint64_t i = first; i < first + count; ++i) Stamp(i);
  }

 private:
  void* Map(void* place, uint64_t count, uint64_t first, int protection) const {
    const int fixed = place != nullptr ? MAP_FIXED : 0;
    const int kind = file_ >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    return mmap(place, count * kPage, protection, kind | fixed, file_,
                file_ >= 0 ? static_cast<off_t>(first * kPage) : 0);
  }

  // Nothing of this changes the contents.
  void Advise(uint64_t kind, uint64_t first, uint64_t count) const {
    constexpr int kAdvice[] = {MADV_PAGEOUT, MADV_COLD, MADV_MERGEABLE, MADV_HUGEPAGE,
                               MADV_COLLAPSE};
    madvise(page(first), count * kPage, kAdvice[kind]);
  }

  // After it the pages are there and may be written; what they hold does not matter.
  void Change(uint64_t kind, uint64_t first, uint64_t count, Random& random) {
    std::byte* const at = page(first);
    const uint64_t size = count * kPage;
    const auto pause = [&] { usleep(static_cast<useconds_t>(random.Below(200))); };
    if (kind == 5) {  // unmapped, and mapped anew
      Must(Map(at, count, first, PROT_NONE) == at);
      pause();
      Must(Map(at, count, first, PROT_READ | PROT_WRITE) == at);
    } else if (kind == 6) {
      Must(madvise(at, size, MADV_DONTNEED) == 0);
    } else if (kind == 7) {
      madvise(at, size, file_ >= 0 ? MADV_REMOVE : MADV_FREE);
    } else if (kind == 8) {
      Must(mprotect(at, size, random.Chance(1, 2) ? PROT_NONE : PROT_READ) == 0);
      pause();
      Must(mprotect(at, size, PROT_READ | PROT_WRITE) == 0);
    } else if (kind == 9) {
      MoveAway(at, first, count);
    } else if (kind == 10) {
      CopyOnWrite(at, size);
    } else if (file_ >= 0) {
      Must(ftruncate(file_, static_cast<off_t>(random.Below(pages_) * kPage)) == 0);
      pause();
      Must(ftruncate(file_, static_cast<off_t>(bytes())) == 0);
    }
  }

  // The pages go elsewhere, others take their place for a while, and they come back.
  void MoveAway(std::byte* at, uint64_t first, uint64_t count) const {
    std::byte* const there = away_ + first * kPage;
    const uint64_t size = count * kPage;
    // Pages of different kinds cannot be moved as one.
    for (uint64_t i = 0; i < size; i += kPage) {
      if (mremap(at + i, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, there + i) == MAP_FAILED) {
        return;
      }
      Must(Map(at + i, 1, first + i / kPage, PROT_READ | PROT_WRITE) == at + i);
    }
    Must(Map(there, count, first, PROT_NONE) == there);
  }

  // A child writes what it believes to be its own. Pages of a file are not.
  void CopyOnWrite(std::byte* at, uint64_t size) const {
    if (file_ >= 0) return;
    const pid_t child = fork();
    if (child == 0) {
      std::memset(at, 0xEE, size);
      _exit(0);
    }
    if (child > 0) waitpid(child, nullptr, 0);
  }

  // The page begins a new life, in which its epoch is even.
  void Stamp(uint64_t i) {
    const uint32_t now = epochs_[i].load();
    const uint32_t next = now + now % 2;
    const uint64_t word = StampOf(slot(i), next);
    // Word by word: a peer that looks on must not find half of one.
    auto* const words = reinterpret_cast<std::atomic<uint64_t>*>(page(i));
    for (uint64_t at = 0; at < kStampBytes / sizeof word; ++at) words[at].store(word);
    epochs_[i].store(next);
  }

  static void Must(bool done) { CHECK(done); }

  const uint64_t first_slot_;
  const uint64_t pages_;
  Epoch* const epochs_;
  std::vector<std::mutex> locks_;
  int file_ = -1;
  std::byte* start_ = nullptr;
  std::byte* away_ = nullptr;
};

}  // namespace verbena::torture
