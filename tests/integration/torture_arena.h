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

// The first kStampBytes of a page are written by the program and contain stamps. The rest is
// divided into parts, each of which has one writer.
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

// The version of a page: even while its contents are stable, odd while they change. Shared between
// processes.
using Epoch = std::atomic<uint32_t>;

constexpr uint64_t StampOf(uint64_t slot, uint32_t epoch) {
  return uint64_t{0xA5} << 56 | slot << 32 | epoch;
}

inline uint64_t WordAt(const std::byte* place) {
  uint64_t word = 0;
  std::memcpy(&word, place, sizeof word);
  return word;
}

// Differs from any stamp.
constexpr uint64_t MessageWord(uint32_t count) { return ~StampOf(0, count); }
inline void FillWords(std::byte* place, uint64_t bytes, uint64_t word) {
  for (uint64_t at = 0; at < bytes; at += sizeof word) std::memcpy(place + at, &word, sizeof word);
}

// Whether an access between the epochs `before` and `after` may have seen this word in the
// program's part: it must not be older than `before`, nor of another page. New pages are zero. A
// word that the program stores meanwhile can be seen in part, because reads are atomic per byte and
// only atomics per word.
inline bool MayBeSeen(uint64_t word, uint64_t slot, uint32_t before, uint32_t after) {
  const bool was_stable = before == after && before % 2 == 0;
  if (was_stable) return word == StampOf(slot, before);
  for (uint64_t byte = uint64_t{0xFF}; byte != 0; byte <<= 8) {
    bool may_be = (word & byte) == 0;
    // A page that is changing gets the stamp of the next even epoch.
    for (uint32_t epoch = before - before % 2; !may_be && epoch <= after + after % 2; epoch += 2) {
      may_be = (word & byte) == (StampOf(slot, epoch) & byte);
    }
    if (!may_be) return false;
  }
  return true;
}

// Pages of a file, or anonymous pages, with all operations that a program may do to its memory.
// Each page has a lock, so that several threads can change pages in parallel.
//
// Thread rule: any thread.
class Arena {
 public:
  // `epochs` has an element for each page.
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

  // Whether the range contains only `word`; also true if the page has changed since `epoch`, or was
  // changing then.
  bool Holds(uint64_t page, uint64_t offset, uint64_t bytes, uint64_t word, uint32_t epoch) {
    const std::lock_guard lock(locks_[page]);
    if (epoch % 2 != 0 || epochs_[page].load() != epoch) return true;
    for (uint64_t at = 0; at < bytes; at += sizeof word) {
      if (WordAt(this->page(page) + offset + at) != word) return false;
    }
    return true;
  }

  // Does one random memory operation to a few pages.
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

  // Operations that do not change the contents.
  void Advise(uint64_t kind, uint64_t first, uint64_t count) const {
    constexpr int kAdvice[] = {MADV_PAGEOUT, MADV_COLD, MADV_MERGEABLE, MADV_HUGEPAGE,
                               MADV_COLLAPSE};
    madvise(page(first), count * kPage, kAdvice[kind]);
  }

  // Operations that change the contents. Afterwards the pages are mapped and writable.
  void Change(uint64_t kind, uint64_t first, uint64_t count, Random& random) {
    std::byte* const at = page(first);
    const uint64_t size = count * kPage;
    const auto pause = [&] { usleep(static_cast<useconds_t>(random.Below(200))); };
    if (kind == 5) {  // unmap, and map again
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

  // Moves the pages elsewhere, maps new ones in their place, and drops the old ones.
  void MoveAway(std::byte* at, uint64_t first, uint64_t count) const {
    std::byte* const there = away_ + first * kPage;
    const uint64_t size = count * kPage;
    // Page by page: mremap cannot move pages of several mappings at once.
    for (uint64_t i = 0; i < size; i += kPage) {
      if (mremap(at + i, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, there + i) == MAP_FAILED) {
        return;
      }
      Must(Map(at + i, 1, first + i / kPage, PROT_READ | PROT_WRITE) == at + i);
    }
    Must(Map(there, count, first, PROT_NONE) == there);
  }

  // A forked child writes the pages, so that the kernel copies them. Pages of a file are shared,
  // and left alone.
  void CopyOnWrite(std::byte* at, uint64_t size) const {
    if (file_ >= 0) return;
    const pid_t child = fork();
    if (child == 0) {
      std::memset(at, 0xEE, size);
      _exit(0);
    }
    if (child > 0) waitpid(child, nullptr, 0);
  }

  // Stamps the page for the next even epoch, and then sets this epoch.
  void Stamp(uint64_t i) {
    const uint32_t now = epochs_[i].load();
    const uint32_t next = now + now % 2;
    const uint64_t word = StampOf(slot(i), next);
    // Stores whole words, so that a concurrent reader does not see half of one.
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
