#include "queue/shared_receive_queue.h"

#include <utility>

namespace verbena::queue {

SharedReceiveQueue::SharedReceiveQueue(uint32_t capacity, uint32_t sges_max)
    : limits_{.sges_max = sges_max},
      capacity_(capacity),
      free_(std::make_unique<SlotRing>(0)),
      posted_(std::make_unique<SlotRing>(0)) {
  const MutexLock lock(mutex_);
  GrowTo(capacity);
}

Result<void, PostError> SharedReceiveQueue::Post(const ReceiveWorkRequest& request) {
  if (const auto error = Validate(request, limits_)) return Fail(*error);
  const MutexLock lock(mutex_);
  if (slot_count_ - free_->size() >= capacity_) {
    return Fail(PostError::Exceeds(PostReason::kQueueFull, capacity_, capacity_));
  }
  Slot* const slot = *free_->Pop();
  slot->wqe = request.wqe;
  slot->sge_count = static_cast<uint32_t>(request.sges.size());
  slot->length = 0;
  Sge* to = slot->sges;
  for (const Sge& sge : request.sges) {
    slot->length += sge.length;
    *to++ = sge;
  }
  posted_->Push(slot);
  return {};
}

std::optional<SharedReceiveQueue::Taken> SharedReceiveQueue::Take() {
  const std::optional<Slot*> slot = posted_->Pop();
  if (!slot) return std::nullopt;
  taken_count_.fetch_add(1, std::memory_order_relaxed);
  begin_ = Next(begin_);
  // IBA 10.2.9.3: the event is raised once, when fewer elements are left than the limit, and the
  // limit is disarmed. The exchange fails if the program has just set another limit, which then
  // applies.
  uint32_t armed = limit();
  const bool reached = posted_->size() < armed &&
                       limit_.compare_exchange_strong(armed, 0, std::memory_order_relaxed);
  return Taken{.handle = Handle(*slot), .limit_reached = reached};
}

Result<void, SharedReceiveQueue::ResizeError> SharedReceiveQueue::Resize(uint32_t capacity) {
  const MutexLock lock(mutex_);
  if (capacity < slot_count_ - free_->size()) return Fail(ResizeError::kTooSmall);
  // Unused elements of a smaller queue are kept for a later growth.
  if (capacity > slot_count_) GrowTo(capacity);
  capacity_ = capacity;
  return {};
}

void SharedReceiveQueue::GrowTo(uint32_t count) {
  auto free = std::make_unique<SlotRing>(count);
  auto posted = std::make_unique<SlotRing>(count);
  while (const std::optional<Slot*> slot = free_->Pop()) free->Push(*slot);
  while (const std::optional<Slot*> slot = posted_->Pop()) posted->Push(*slot);

  const size_t added = count - slot_count_;
  Block block{std::make_unique<Slot[]>(added), std::make_unique<Sge[]>(added * limits_.sges_max)};
  for (size_t i = 0; i < added; ++i) {
    block.slots[i].sges = block.sges.get() + i * limits_.sges_max;
    free->Push(&block.slots[i]);
  }
  blocks_.push_back(std::move(block));
  slot_count_ = count;
  free_ = std::move(free);
  posted_ = std::move(posted);
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): it loses sight of the moved block

bool SharedReceiveQueue::IsConsistent() const {
  const MutexLock lock(mutex_);
  const size_t taken = taken_count_.load(std::memory_order_relaxed);
  const size_t used = posted_->size() + taken;
  return used + free_->size() == slot_count_ && used <= capacity_ && capacity_ <= slot_count_;
}

}  // namespace verbena::queue
