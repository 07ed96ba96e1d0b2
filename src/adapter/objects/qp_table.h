#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "adapter/port_map.h"
#include "base/check.h"
#include "base/random.h"
#include "fabric/endpoint_ports.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// Finds queue pairs by number, in one step, and assigns numbers at the endpoints of this process.
// At each endpoint the numbers start at a random value and wrap around, so a number is reused only
// after all other free numbers. So packets that are still on their way to a destroyed queue pair do
// not reach its successor.
//
// Owns what it holds. Invariant: blocks_[block_of_[e] - 1] has the queue pairs of endpoint e, if
// block_of_[e] is not 0; its entry n is the one with number e:n. Used by one thread at a time: its
// owner guards it.
template <class Qp>
class QpTable {
 public:
  // Numbers 0 and 1 are for management (IBA 3.9), the last number of the last endpoint is for
  // multicast.
  static constexpr uint32_t kFirst = 2;
  static constexpr uint32_t kEnd = kNumbersOfEndpoint - 1;
  static constexpr uint32_t kNumbers = kEnd - kFirst;
  // Live queue pairs of an endpoint. The other numbers are in quarantine before they are used
  // again.
  static constexpr uint32_t kLiveMax = 3'072;
  // The index of a block has eight bits, and one value means that there is none.
  static constexpr size_t kBlocksMax = 255;

  // `seed` determines the first number.
  QpTable(uint32_t qps_max, uint64_t seed) : qps_max_(qps_max), random_(seed) {}
  QpTable(const QpTable&) = delete;
  QpTable& operator=(const QpTable&) = delete;

  // Makes the numbers of this endpoint available. REQUIRES: it has none yet, and
  // has_room_for_endpoint().
  void AddEndpoint(fabric::EndpointId endpoint) {
    CHECK(has_room_for_endpoint() && !Has(endpoint));
    const auto first = static_cast<uint32_t>(kFirst + random_.Below(kNumbers));
    blocks_.push_back(std::make_unique<Block>(endpoint, first));
    block_of_[endpoint.value()] = static_cast<uint8_t>(blocks_.size());
  }
  [[nodiscard]] bool has_room_for_endpoint() const { return blocks_.size() < kBlocksMax; }
  [[nodiscard]] bool Has(fabric::EndpointId endpoint) const {
    return block_of_[endpoint.value()] != 0;
  }

  // The limit of queue pairs is reached.
  [[nodiscard]] bool is_full() const { return size_ >= qps_max_; }

  // The number of the next queue pair; nullopt if is_full, or if no endpoint has a free one.
  [[nodiscard]] std::optional<QpNumber> NextNumber() {
    if (is_full()) return std::nullopt;
    for (const auto& block : blocks_) {
      if (block->live == kLiveMax) continue;
      while (block->entries[block->next] != nullptr) Step(*block);
      return MakeQpNumber(block->endpoint, block->next);
    }
    return std::nullopt;
  }

  // REQUIRES: its number is what NextNumber returned last.
  Qp& Insert(std::unique_ptr<Qp> qp) {
    CHECK(qp->number() == NextNumber());
    Block& block = *BlockOf(qp->number());
    std::unique_ptr<Qp>& entry = block.entries[block.next];
    entry = std::move(qp);
    ++block.live;
    ++size_;
    Step(block);
    DCHECK(block.live <= kLiveMax && size_ <= qps_max_);
    return *entry;
  }

  // nullptr if there is none.
  [[nodiscard]] Qp* Find(QpNumber number) const {
    const Block* const block = BlockOf(number);
    return block == nullptr ? nullptr : block->entries[NumberWithin(number)].get();
  }

  // REQUIRES: it is present.
  void Erase(QpNumber number) {
    CHECK(Find(number) != nullptr);
    Block& block = *BlockOf(number);
    block.entries[NumberWithin(number)].reset();
    --block.live;
    --size_;
  }

  [[nodiscard]] size_t size() const { return size_; }

  // Visits every number of every endpoint: for tests.
  [[nodiscard]] bool IsConsistent() const {
    size_t live = 0;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (block_of_[blocks_[i]->endpoint.value()] != i + 1) return false;
      if (!IsConsistent(*blocks_[i])) return false;
      live += blocks_[i]->live;
    }
    return live == size_ && size_ <= qps_max_;
  }

  // By endpoint, and then by ascending number. `fn` may erase the queue pair that it is called
  // with.
  template <class Fn>
  void ForEach(Fn fn) {
    for (const auto& block : blocks_) {
      for (const std::unique_ptr<Qp>& entry : block->entries) {
        if (entry != nullptr) fn(*entry);
      }
    }
  }

 private:
  struct Block {
    Block(fabric::EndpointId of, uint32_t first) : endpoint(of), next(first) {}

    const fabric::EndpointId endpoint;
    uint32_t next;
    uint32_t live = 0;
    std::array<std::unique_ptr<Qp>, kNumbersOfEndpoint> entries;
  };

  static bool IsConsistent(const Block& block) {
    uint32_t live = 0;
    for (uint32_t number = 0; number < kNumbersOfEndpoint; ++number) {
      const Qp* const qp = block.entries[number].get();
      if (qp == nullptr) continue;
      if (number < kFirst || number >= kEnd) return false;
      if (qp->number() != MakeQpNumber(block.endpoint, number)) return false;
      ++live;
    }
    return live == block.live && live <= kLiveMax && block.next >= kFirst && block.next < kEnd;
  }

  Block* BlockOf(QpNumber number) const {
    const size_t index = block_of_[EndpointOf(number).value()];
    return index == 0 ? nullptr : blocks_[index - 1].get();
  }
  static void Step(Block& block) { block.next = block.next + 1 == kEnd ? kFirst : block.next + 1; }

  const uint32_t qps_max_;
  Random random_;
  std::array<uint8_t, fabric::kEndpointsMax> block_of_{};
  std::vector<std::unique_ptr<Block>> blocks_;
  size_t size_ = 0;
};

}  // namespace verbena::adapter
