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

// Turns memory that the program has allocated into an arena, at the same addresses, and back. The
// program does not notice: its threads can read and write it at any time, and no byte is lost.
//
//   Prepare   makes an arena whose view is mapped elsewhere
//   Take      moves the pages aside by one mremap, so that threads which touch them wait; copies
//   them
//             to the arena piece by piece; moves the view to their address by one mremap
//   GiveBack  unmaps the granules of the view, so that threads wait; copies the contents back into
//             the pages; moves these to the address of the view
//
// Meanwhile the program can unmap parts of the memory, which are never touched again.
//
// Thread rule: one thread at a time, not the pager's, and none that touches the memory.
class Takeover {
 public:
  // `options.takes_over` is the memory, in whole pages of 4 KiB: see TakeoverPages.
  [[nodiscard]] static ErrorOr<std::unique_ptr<Takeover>> Prepare(const ArenaOptions& options,
                                                                  const ArenaCallbacks& callbacks);
  Takeover(const Takeover&) = delete;
  Takeover& operator=(const Takeover&) = delete;
  // Gives the memory back if it is taken.
  ~Takeover();

  [[nodiscard]] Arena& arena() const { return *arena_; }

  // A failure leaves the memory unchanged; a retry needs a new Takeover.
  [[nodiscard]] ErrorOr<void> Take();
  // Returns how many bytes the swap store has lost; touching these raises SIGSEGV. The arena still
  // exists, but must not be used.
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
