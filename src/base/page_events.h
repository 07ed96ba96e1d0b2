#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/event_file.h"
#include "base/file_descriptor.h"
#include "base/interval_map.h"
#include "base/mappings.h"
#include "base/mutex.h"
#include "base/range_ring.h"
#include "verbena/memory_events.h"

namespace verbena {

// Learns at once of pages that the program gives up: munmap, mremap, madvise (DONTNEED, FREE,
// REMOVE). Uses one userfaultfd, for events alone: memory is registered with it for write
// protection, which is never set, so that the program's own page faults cost no more than before.
//
// A program thread that gives pages up waits until the reader has read the event, whatever locks
// that thread holds: of the allocator, or of this adapter. So the reader allocates nothing, takes
// no lock, takes no signal, and only puts the range into a ring of fixed size. If the ring is full,
// all pages become doubtful. The reader wakes no thread: the engine checks for events before it
// touches memory. Listeners, the registration caches, hear of each event, too. A thread that cannot
// wait until the reader runs reads events itself.
//
// See docs/unpinned.md for what it costs the program, and why it is off unless asked for.
// Thread rule: Watch on any thread, but under no lock that a program thread may wait for; Take on
// one thread at a time.
class PageEvents final : public MemoryEvents {
 public:
  enum class Source : uint8_t { kDevice, kCall, kUserModeOnly };
  // kAny: private and shared memory, for a user that can live with changes that are not reported:
  // of shared memory, shmdt and truncation are not. kPrivate: memory of which all changes are.
  enum class Scope : uint8_t { kAny, kPrivate };

  // nullptr if the system allows no userfaultfd; `why_not` says why.
  [[nodiscard]] static std::unique_ptr<PageEvents> Open(Scope scope, std::string& why_not);
  PageEvents(const PageEvents&) = delete;
  PageEvents& operator=(const PageEvents&) = delete;
  ~PageEvents() override;

  [[nodiscard]] Source source() const { return source_; }

  // Starts to watch these bytes. False if that is not possible: they belong to a file, or are out
  // of scope, or the program itself watches them.
  [[nodiscard]] bool Watch(uint64_t address, uint64_t length) override VERBENA_EXCLUDES(mutex_);

  // A system call, of 0.1 us.
  [[nodiscard]] bool IsPending() const override;
  void ReadPending() override { ReadAll(); }

  // Both wait until no thread is within an event that it began to read before.
  [[nodiscard]] bool Add(MemoryListener& listener) override;
  void Remove(MemoryListener& listener) override;

  // Cheap enough to be called in every pass.
  [[nodiscard]] bool has_events() const {
    return ring_.is_ready() || has_overflown_.load(std::memory_order_relaxed);
  }
  // Calls fn(first, last) for each range of bytes that was given up, the oldest first. After an
  // overflow, the first range is the whole address space.
  template <class Fn>
  void Take(Fn fn) {
    if (has_overflown_.exchange(false)) fn(uint64_t{0}, ~uint64_t{0});
    for (size_t left = kRoom; left > 0; --left) {
      const auto range = ring_.Pop();
      if (!range) return;
      fn(range->first, range->last);
    }
  }

 private:
  static constexpr size_t kRoom = 1'024;
  static constexpr size_t kListenersMax = 16;
  using Listeners = std::array<std::atomic<MemoryListener*>, kListenersMax>;

  PageEvents(FileDescriptor file, Source source, EventFile stop, Scope scope);
  void Read();
  void ReadAll();
  bool ReadOne();
  void WaitForReaders() const;
  void Unwatch(Interval range) const;

  const FileDescriptor file_;
  const Source source_;
  const EventFile stop_;
  const std::optional<Mappings> mappings_;  // to tell private memory; not of Scope::kAny

  RangeRing<std::atomic, kRoom> ring_;
  std::atomic<bool> has_overflown_ = false;

  Listeners listeners_{};
  std::atomic<uint32_t> reading_ = 0;  // threads that are at an event

  Mutex mutex_;
  IntervalMap<bool> watched_ VERBENA_GUARDED_BY(mutex_);  // all that was ever watched
  std::thread reader_;
};

// "userfaultfd, user mode only"
[[nodiscard]] const char* NameOf(PageEvents::Source source);

}  // namespace verbena
