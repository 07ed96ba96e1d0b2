#include "managed/arena_transfer.h"

#include <cstring>

namespace verbena::managed {

ArenaCallbacks ArenaTransfer::Around(const ArenaCallbacks& callbacks) {
  ArenaCallbacks around = callbacks;
  around.on_ready = [this, others = callbacks.on_ready](uint64_t ticket, const Answer& answer) {
    ticket == kTicket ? OnReady(answer) : others(ticket, answer);
  };
  return around;
}

Answer ArenaTransfer::CopyIn(Arena& arena, uint64_t first_byte, std::span<const std::byte> from) {
  return Transfer(arena, first_byte, from.size(), true,
                  {.to = arena.adapter_base() + first_byte, .from = from.data()});
}

Answer ArenaTransfer::CopyOut(Arena& arena, uint64_t first_byte, std::span<std::byte> to) {
  return Transfer(arena, first_byte, to.size(), false,
                  {.to = to.data(), .from = arena.adapter_base() + first_byte});
}

Answer ArenaTransfer::Transfer(Arena& arena, uint64_t first_byte, uint64_t length, bool for_write,
                               Copy copy) {
  std::unique_lock lock(mutex_);
  copy_ = copy;
  answer_.reset();
  arena.PageIn(first_byte, length, for_write, kTicket);
  done_.wait(lock, [this] { return answer_.has_value(); });
  return *answer_;
}

void ArenaTransfer::OnReady(const Answer& answer) {
  const std::lock_guard lock(mutex_);
  if (answer) std::memcpy(copy_.to, copy_.from, *answer);
  answer_ = answer;
  done_.notify_one();
}

}  // namespace verbena::managed
