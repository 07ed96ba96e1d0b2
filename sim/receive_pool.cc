#include "sim/receive_pool.h"

#include <numeric>

#include "base/check.h"

namespace verbena::sim {

ReceivePool::ReceivePool(std::unique_ptr<GuardedMemory> memory, uint32_t slots, uint32_t slot_bytes,
                         bool is_shared)
    : guarded_(std::move(memory)), slot_bytes_(slot_bytes), is_shared_(is_shared), free_(slots) {
  std::iota(free_.begin(), free_.end(), 0);
}

std::optional<uint64_t> ReceivePool::OffsetOf(WrId id, Findings& findings) const {
  const auto posted = posted_.find(id.value());
  if (posted == posted_.end()) {
    findings.Add("completions", "a receive request completed twice, or never posted");
    return std::nullopt;
  }
  if (!is_shared_ && order_.front() != id.value()) {
    findings.Add("completions", "receive requests completed out of order");
    return std::nullopt;
  }
  return uint64_t{posted->second} * slot_bytes_;
}

void ReceivePool::Finish(WrId id, bool well, Findings& findings) {
  const auto posted = posted_.find(id.value());
  CHECK(posted != posted_.end());
  guarded_->shadow().Finish(id.value(), well, "a receive", findings);
  free_.push_back(posted->second);
  posted_.erase(posted);
  if (!is_shared_) order_.pop_front();
}

}  // namespace verbena::sim
