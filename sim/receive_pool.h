#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "queue/work_request.h"
#include "sim/findings.h"
#include "sim/guarded_memory.h"

namespace verbena::sim {

// Buffers for messages, some of them posted. Each receive request completes once, and those of one
// queue pair in the order of posting.
class ReceivePool {
 public:
  static constexpr uint32_t kSges = 2;

  ReceivePool() = default;  // none at all
  ReceivePool(std::unique_ptr<GuardedMemory> memory, uint32_t slots, uint32_t slot_bytes,
              bool is_shared);

  [[nodiscard]] GuardedMemory* guarded() const { return guarded_.get(); }
  [[nodiscard]] bool empty() const { return posted_.empty(); }
  [[nodiscard]] size_t posted() const { return posted_.size(); }
  // The id of the next request; ids are consecutive.
  [[nodiscard]] uint64_t next_id() const { return next_id_; }

  // Posts all free buffers by `post`, which returns false if there is no room.
  template <class Post>
  void Fill(Random& random, Post post) {
    while (!free_.empty()) {
      const uint64_t offset = uint64_t{free_.back()} * slot_bytes_;
      const uint64_t first = random.Below(slot_bytes_ + 1);
      const std::array<Sge, kSges> sges = {guarded_->Bytes(offset, first),
                                           guarded_->Bytes(offset + first, slot_bytes_ - first)};
      const queue::ReceiveWorkRequest request{.wqe = {WrId(next_id_)}, .sges = sges};
      if (!post(request)) return;
      guarded_->Allow(next_id_, offset, std::vector<std::byte>(slot_bytes_), true);
      posted_.emplace(next_id_, free_.back());
      if (!is_shared_) order_.push_back(next_id_);
      free_.pop_back();
      ++next_id_;
    }
  }

  // The offset of the buffer of a completed request. nullopt if it is out of order.
  [[nodiscard]] std::optional<uint64_t> OffsetOf(WrId id, Findings& findings) const;
  // The request has ended. REQUIRES: OffsetOf returned a value.
  void Finish(WrId id, bool well, Findings& findings);

 private:
  std::unique_ptr<GuardedMemory> guarded_;
  uint32_t slot_bytes_ = 0;
  bool is_shared_ = false;
  std::vector<uint32_t> free_;
  std::map<uint64_t, uint32_t> posted_;  // id to slot
  std::deque<uint64_t> order_;           // ids, unless it is shared
  uint64_t next_id_ = 1;
};

}  // namespace verbena::sim
