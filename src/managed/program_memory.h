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

  // From a line of that file.
  [[nodiscard]] static std::optional<Mapping> Parse(const std::string& line);
};

// The one that has the byte at `address`.
[[nodiscard]] std::optional<Mapping> FindMapping(uint64_t address);

// The pages of 4 KiB of these bytes of the program, if they can be adopted; or why not, in words
// that go on from "because it ".
//
// They must be ordinary: private, anonymous, readable and writable, not locked, of one mapping, and
// not the stack of this thread. And they must be the program's alone: what shares a page with these
// bytes may be ours, and a thread of ours that waits for such a page waits for itself. So bytes
// begin and end on page borders, or are a block that malloc has mapped for itself. For the same
// reason they are not of the heaps that malloc keeps for small blocks: it writes its notes into
// free memory, with a lock held that we may need.
[[nodiscard]] Result<std::span<std::byte>, std::string> TakeoverPages(
    std::span<const std::byte> bytes);

// Less than this is not worth a thread and a swap file.
inline constexpr uint64_t kTakeoverMin = 64 * 4096;

}  // namespace verbena::managed
