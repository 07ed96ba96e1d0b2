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

// Copies between an arena and other memory, for a thread that waits for it. The copy itself is made
// by the pager thread, in the answer to a want: only then are the bytes sure to be there.
//
// One transfer at a time; the other memory must not be managed.
class ArenaTransfer {
 public:
  ArenaTransfer() = default;
  ArenaTransfer(const ArenaTransfer&) = delete;
  ArenaTransfer& operator=(const ArenaTransfer&) = delete;

  // What the arena must be made with: answers to transfers come here, all else goes on. Must
  // outlive the arena.
  [[nodiscard]] ArenaCallbacks Around(const ArenaCallbacks& callbacks);

  // From the first byte of the arena on; how many were copied, or why none.
  [[nodiscard]] Answer CopyIn(Arena& arena, uint64_t first_byte, std::span<const std::byte> from);
  [[nodiscard]] Answer CopyOut(Arena& arena, uint64_t first_byte, std::span<std::byte> to);

 private:
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
  };
  // No other ticket's number: those count from the other end.
  static constexpr uint64_t kTicket = ~uint64_t{0};

  [[nodiscard]] Answer Transfer(Arena& arena, uint64_t first_byte, uint64_t length, bool for_write,
                                Copy copy);
  void OnReady(const Answer& answer);

  // std::mutex, because a condition variable needs it. Guards the two that follow.
  std::mutex mutex_;
  std::condition_variable done_;
  Copy copy_;
  std::optional<Answer> answer_;
};

}  // namespace verbena::managed
