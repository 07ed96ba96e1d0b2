#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/error.h"
#include "managed/arena.h"
#include "managed/arena_options.h"
#include "managed/arena_transfer.h"

namespace verbena::managed {

class ProgramPages;

// Memory that the program got by itself, and that is an arena's for a while, at the same addresses.
// The program need not know: its threads may read and write it all the time, and no byte is lost.
//
//   Prepare   an arena whose view is aside
//   Take      the pages are moved aside in one step, threads that touch them wait; their contents
//             go into the arena, a piece at a time; the view takes their place in one step
//   GiveBack  the view shows nothing, threads wait; contents come back into the pages; these take
//             the place of the view in one step
//
// While it is taken the program may unmap parts of it: these are gone, and never touched again.
//
// Thread rule: one thread at a time, not the pager's, and none that touches the memory.
class Takeover {
 public:
  // `options.adopts` says which memory, in pages of 4 KiB: TakeoverPages.
  [[nodiscard]] static ErrorOr<std::unique_ptr<Takeover>> Prepare(const ArenaOptions& options,
                                                                  const ArenaCallbacks& callbacks);
  Takeover(const Takeover&) = delete;
  Takeover& operator=(const Takeover&) = delete;
  // Gives back what is taken.
  ~Takeover();

  [[nodiscard]] Arena& arena() const { return *arena_; }

  // Fails with the memory as it was; another try needs another takeover.
  [[nodiscard]] ErrorOr<void> Take();
  // Returns how many bytes the swap store has lost: touching these at home is SIGSEGV from now on.
  // The arena is there, and of no use any more.
  uint64_t GiveBack();

 private:
  struct Range {
    uint64_t offset = 0;
    uint64_t length = 0;
  };

  explicit Takeover(std::span<std::byte> home);

  [[nodiscard]] uint64_t Fill();
  [[nodiscard]] bool FillPiece(Range piece);
  void Restore(uint64_t length);
  [[nodiscard]] std::vector<Range> Restore(const std::vector<Range>& ranges);
  [[nodiscard]] uint64_t PageIn(Range range, std::vector<Range>& refused);
  [[nodiscard]] bool IsNeeded(uint64_t offset) const;
  uint64_t ReturnAll();

  const std::span<std::byte> home_;
  ArenaTransfer transfer_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<ProgramPages> pages_;  // nullptr: not taken
  std::set<uint64_t> lost_;              // offsets of granules
};

}  // namespace verbena::managed
