#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "managed/arena.h"
#include "managed/arena_options.h"

namespace verbena::managed {

// Copies between an arena and other memory while the caller's thread waits. The pager thread makes
// the copy, in the answer to a page request: only then are the bytes certain to be resident.
//
// One transfer at a time; the other memory must not be managed.
class ArenaTransfer {
 public:
  ArenaTransfer() = default;
  ArenaTransfer(const ArenaTransfer&) = delete;
  ArenaTransfer& operator=(const ArenaTransfer&) = delete;

  // Returns the callbacks to make the arena with: they take the answers to transfers and forward
  // the rest to `callbacks`. This object must outlive the arena.
  [[nodiscard]] ArenaCallbacks Around(const ArenaCallbacks& callbacks);

  // Copies to or from the arena, beginning at its byte `first_byte`. Returns how many bytes were
  // copied, or why none.
  [[nodiscard]] Answer CopyIn(Arena& arena, uint64_t first_byte, std::span<const std::byte> from);
  [[nodiscard]] Answer CopyOut(Arena& arena, uint64_t first_byte, std::span<std::byte> to);

 private:
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
  };
  // No other request has this ticket: the others count upwards from a small number.
  static constexpr uint64_t kTicket = ~uint64_t{0};

  [[nodiscard]] Answer Transfer(Arena& arena, uint64_t first_byte, uint64_t length, bool for_write,
                                Copy copy);
  void OnReady(const Answer& answer);

  // std::mutex, because a condition variable needs it. Guards copy_ and answer_.
  std::mutex mutex_;
  std::condition_variable done_;
  Copy copy_;
  std::optional<Answer> answer_;
};

}  // namespace verbena::managed
