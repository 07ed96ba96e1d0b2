#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "memory/memory_core.h"
#include "model/arena.h"
#include "model/choices.h"
#include "model/reference.h"
#include "model/tally.h"

namespace verbena::memory::model {

// Runs the memory core and the reference in parallel. Each step draws one operation, executes it on
// both and compares the results. There are few objects, so that operations often interact.
//
// The steps are in the world_*.cc files, one family of operations each.
class World {
 public:
  static constexpr uint64_t kNoLog = UINT64_MAX;

  // Writes every operation from step `log_from` on to standard error.
  explicit World(Choices& choices, uint64_t log_from = kNoLog);

  // Runs one operation. False if the two differ, which ends the run.
  bool Step();
  // Removes all objects in random order; nothing may be left. False if the two differ.
  bool TearDown();

  uint64_t steps() const { return steps_; }
  const std::string& difference() const { return difference_; }
  const Tally& tally() const { return tally_; }

 private:
  static constexpr uint64_t kSmallPage = 4096;
  static constexpr uint32_t kInvertedFrames = 48;
  static constexpr uint64_t kSharedPages = 40;
  static constexpr uint64_t kVirtualPages = 40;  // where local pages are mapped, mostly
  static constexpr uint64_t kGuestPages = 64;
  static constexpr uint64_t kFarBase = uint64_t{1}
                                       << 45;  // memory that is neither read nor written
  static constexpr uint32_t kQps = 3;

  struct SharedTable {
    std::array<std::atomic<uint64_t>, kSharedPages> entries{};
    Pages mirror;
  };
  // Owns the pages that a PageListBacking refers to.
  struct PageList {
    std::vector<PhysicalAddress> pages;
    PageListBacking backing;
  };

  static MemoryOptions MakeOptions(Choices& choices);

  // world_spaces.cc
  void GuestStep();
  void MapGuestStep();
  void ConsumerStep();
  ConsumerSpec MakeConsumer(const SharedTable** shared);
  void DomainStep();
  void EmptyDomain(PdId pd);
  void SegmentStep();
  void LocalPageStep();
  void SharedPageStep();

  // world_regions.cc
  void RegisterStep();
  void ReregisterStep();
  void DeregisterStep();
  void ReserveStep();
  void RegisterReservedStep();
  void SwapStep();
  RegionSpec MakeSpec(PdId pd);
  Access MakeRights();
  Backing MakeBacking(RegionSpec& spec, PageList& list);
  LinearBacking MakeLinear(RegionSpec& spec, const ConsumerRecord* owner);
  PageList MakePageList(uint64_t length, GuestKey guest, PageShift shift);

  // world_pages.cc
  void MapPagesStep();
  void UnmapPagesStep();
  void InvalidatePagesStep();
  PageShift MakeShift();
  uint64_t PhysicalPage(GuestKey guest, uint64_t page_bytes);
  uint64_t PageOf(const Entry& entry);

  // world_windows.cc
  void WindowStep();
  void BindStep();
  void InvalidateKeyStep();
  void TaskStep();
  void TouchStep();
  void StreamStep();
  void TimeStep();

  // world_access.cc
  void AccessStep();
  void CompareReady(const Ready& ready, const Outcome& expected);
  void CompareAccess(const Translation& actual, const Outcome& expected);
  void Move(const Ready& ready, const Outcome& expected, AccessKind access);
  void MoveAtomic(const Ready& ready, const Outcome& expected);
  uint64_t OffsetIn(const Entry& entry);
  uint64_t LengthFrom(const Entry& entry, uint64_t offset);

  // world_picks.cc: mostly valid choices, sometimes invalid ones.
  PdId PickDomain();
  ConsumerId PickConsumer();
  GuestKey PickGuest();
  const Entry* PickEntry(std::optional<EntryType> type);
  Key PickKey(const Entry* entry, Origin origin);
  Accessor PickAccessor(const Entry* entry);

  void RemoveEntry(const Entry& entry);
  void CheckState();
  void Differ(const std::string& what);
  void Log(const char* what, std::initializer_list<uint64_t> numbers);
  bool logs() const { return steps_ >= log_from_; }

  template <class T, class E>
  void Expect(const char* what, const Verdict<E>& expected, const Result<T, E>& actual);

  Choices& choices_;
  const uint64_t log_from_;
  const MemoryOptions options_;
  Arena arena_;
  std::array<SharedTable, 2> shared_tables_;
  MemoryCore core_;
  InvertedPageTable& inverted_;
  Reference reference_;
  Tally tally_;
  std::string difference_;
  uint64_t steps_ = 0;
  Time now_;
  std::array<StreamNumber, kQps> next_expected_;
  std::vector<PdId> old_domains_{PdId()};
  std::vector<ConsumerId> old_consumers_{ConsumerId()};
  std::vector<GuestKey> old_guests_{GuestKey(77)};
  std::vector<std::byte> buffer_;
};

template <class T, class E>
void World::Expect(const char* what, const Verdict<E>& expected, const Result<T, E>& actual) {
  const auto name = [](const Verdict<E>& verdict) {
    return std::string(verdict.has_value() ? NameOf(*verdict) : "success");
  };
  const Verdict<E> got = actual.has_value() ? std::nullopt : Verdict<E>(actual.error());
  if (got.has_value()) {
    tally_.Count(*got);
  } else {
    tally_.CountSuccess();
  }
  if (got != expected) {
    Differ(std::string(what) + ": expected " + name(expected) + ", got " + name(got));
  }
}

// The id that a call returned; nullopt if it failed.
template <class T, class E>
std::optional<T> ValueOf(const Result<T, E>& result) {
  return result.has_value() ? std::optional<T>(*result) : std::nullopt;
}

}  // namespace verbena::memory::model
