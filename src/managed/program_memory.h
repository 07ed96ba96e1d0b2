#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace verbena::managed {

// One mapping of this process, as /proc/self/maps has it.
struct Mapping {
  uint64_t first = 0;
  uint64_t end = 0;
  std::string rights;  // "rw-p"
  std::string name;    // a file, or "[heap]" and the like; empty for most anonymous memory

  // Parses a line of that file.
  [[nodiscard]] static std::optional<Mapping> Parse(const std::string& line);
};

// The mapping that contains the byte at `address`.
[[nodiscard]] std::optional<Mapping> FindMapping(uint64_t address);

// The 4 KiB pages of these bytes of the program, if they can be taken over; or why not, in words
// that go on from "because it ".
//
// The pages must be ordinary: private, anonymous, readable and writable, not locked, of one
// mapping, and not the stack of this thread. And they must be the program's alone: other data on
// such a page may be Verbena's, and a thread of Verbena that waits for the page would wait for
// itself. So the bytes begin and end on page borders, or are a block for which malloc made a
// mapping of its own. For the same reason they must not lie in the heaps that malloc keeps for
// small blocks: malloc writes headers into free memory while it holds a lock that Verbena may need.
[[nodiscard]] Result<std::span<std::byte>, std::string> TakeoverPages(
    std::span<const std::byte> bytes);

// Less than this is not worth a thread and a swap file.
inline constexpr uint64_t kTakeoverMin = 64 * 4096;

}  // namespace verbena::managed
