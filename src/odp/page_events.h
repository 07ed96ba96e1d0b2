#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/event_file.h"
#include "base/file_descriptor.h"
#include "base/interval_map.h"
#include "base/mutex.h"

namespace verbena::odp {

// Learns at once of pages that the program gives up: munmap, mremap, madvise (DONTNEED, FREE,
// REMOVE). Uses one userfaultfd, for events alone: memory is registered with it for write
// protection, which is never set, so that the program's own page faults cost no more than before.
//
// A program thread that gives pages up waits until the reader has read the event, whatever locks
// that thread holds: of the allocator, or of this adapter. So the reader allocates nothing, takes
// no lock, takes no signal, and only puts the range into a ring of fixed size. If the ring is full,
// all pages become doubtful. The reader wakes no thread: the engine checks for events before it
// touches memory.
//
// See docs/unpinned.md for what it costs the program, and why it is off unless asked for.
// Thread rule: Watch on any thread, but under no lock that a program thread may wait for; Take on
// one thread at a time.
class PageEvents {
 public:
  enum class Source : uint8_t { kDevice, kCall, kUserModeOnly };

  // nullptr if the system allows no userfaultfd; `why_not` says why.
  [[nodiscard]] static std::unique_ptr<PageEvents> Open(std::string& why_not);
  PageEvents(const PageEvents&) = delete;
  PageEvents& operator=(const PageEvents&) = delete;
  ~PageEvents();

  [[nodiscard]] Source source() const { return source_; }

  // Starts to watch these bytes. False if that is not possible: they belong to a file, or the
  // program itself watches them.
  bool Watch(uint64_t address, uint64_t length) VERBENA_EXCLUDES(mutex_);

  // Cheap enough to be called in every pass.
  [[nodiscard]] bool has_events() const {
    return end_.load(std::memory_order_acquire) != begin_ ||
           has_overflown_.load(std::memory_order_relaxed);
  }
  // Calls fn(first, last) for each range of bytes that was given up, the oldest first. After an
  // overflow, the first range is the whole address space.
  template <class Fn>
  void Take(Fn fn) {
    if (has_overflown_.exchange(false)) fn(uint64_t{0}, ~uint64_t{0});
    for (const size_t end = end_.load(std::memory_order_acquire); begin_ != end; ++begin_) {
      const Interval range = ring_[begin_ % kRoom];
      taken_.store(begin_ + 1, std::memory_order_release);
      fn(range.first, range.last);
    }
  }

 private:
  static constexpr size_t kRoom = 1'024;

  PageEvents(FileDescriptor file, Source source, EventFile stop);
  void Read();
  void Put(uint64_t first, uint64_t end);
  void Unwatch(Interval range) const;

  const FileDescriptor file_;
  const Source source_;
  const EventFile stop_;

  // Single producer, single consumer: the reader thread writes end_, the engine begin_ and taken_.
  std::array<Interval, kRoom> ring_{};
  std::atomic<size_t> end_ = 0;
  std::atomic<size_t> taken_ = 0;
  size_t begin_ = 0;
  std::atomic<bool> has_overflown_ = false;

  Mutex mutex_;
  IntervalMap<bool> watched_ VERBENA_GUARDED_BY(mutex_);  // all that was ever watched
  std::thread reader_;
};

// "userfaultfd, user mode only"
[[nodiscard]] const char* NameOf(PageEvents::Source source);

}  // namespace verbena::odp
