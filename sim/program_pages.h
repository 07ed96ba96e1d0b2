#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/interval_map.h"
#include "base/random.h"
#include "sim/endnode.h"
#include "sim/findings.h"
#include "sim/guarded_memory.h"
#include "verbena/memory_events.h"

namespace verbena::sim {

// The addresses of a program, the frames that are mapped there, and the userfaultfd that reports
// changes. The program gives pages up and maps other frames at the same addresses. As in the
// kernel, an event is pending from before the change until it is read, its reader may be preempted
// when it has the event, other memory that is mapped there is not watched, and of shared memory
// nothing is reported. Frames are used again late, and never leave memory: an adapter has pinned
// them. One thread.
class ProgramPages final : public MemoryEvents {
 public:
  static constexpr uint64_t kStart = uint64_t{1} << 32;  // the address of the first page

  ProgramPages(Endnode& node, uint32_t pages, Random& random);
  // Back to the endnode. REQUIRES: nothing refers to the frames.
  void Release(Findings& findings);

  [[nodiscard]] uint64_t size() const { return frames_.size() * kPage; }
  // The frames of the pages of these bytes; nullopt if a page is missing.
  [[nodiscard]] std::optional<std::vector<memory::PhysicalAddress>> FramesAt(Interval bytes) const;
  // Gives up the pages from `first` on that are not in use, up to `count`, and maps others there
  // unless they become a hole.
  void Replace(uint64_t first, uint64_t count, bool leaves_hole);
  // Fills the holes at these bytes, and counts a use of their pages.
  void Use(Interval bytes);
  void EndUse(Interval bytes);

  // Contents, as for GuardedMemory. REQUIRES: the pages are in use.
  void Store(uint64_t address, std::span<const std::byte> bytes);
  void Allow(uint64_t id, uint64_t address, std::span<const std::byte> bytes);
  void Finish(uint64_t id, bool well, Findings& findings);
  void Check(Findings& findings) { guarded_->shadow().Check(findings); }

  // The thread that reads events goes on a little.
  void StepReader();
  [[nodiscard]] bool is_reader_idle() const { return events_.empty() && !reading_; }
  [[nodiscard]] uint64_t replaced() const { return replaced_; }

  [[nodiscard]] bool Watch(uint64_t address, uint64_t length) override;
  [[nodiscard]] bool IsPending() const override { return !events_.empty(); }
  void ReadPending() override;
  [[nodiscard]] bool Add(MemoryListener& listener) override;
  void Remove(MemoryListener& listener) override;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Page {
    uint32_t frame = kNone;
    uint32_t uses = 0;
    bool is_watched = false;
  };

  // The pages of an operation.
  static constexpr uint64_t kPiecesMax = 4;
  // Calls fn(offset in the guarded memory, piece of the bytes) for each page.
  template <class Fn>
  void ForEachPiece(uint64_t address, std::span<const std::byte> bytes, Fn fn);
  [[nodiscard]] static bool IsShared(uint64_t page) { return page % 8 == 7; }
  [[nodiscard]] static uint64_t PageOf(uint64_t address) { return (address - kStart) / kPage; }
  void Map(Page& page);

  Endnode& node_;
  std::unique_ptr<GuardedMemory> guarded_;  // all frames
  std::vector<Page> frames_;                // by page of the program
  std::deque<uint32_t> free_;               // frames, the one that is free for longest first
  std::deque<Interval> events_;
  std::optional<Interval> reading_;  // the reader has it, and has not passed it on
  MemoryListener* listener_ = nullptr;
  uint64_t replaced_ = 0;  // pages
};

}  // namespace verbena::sim
