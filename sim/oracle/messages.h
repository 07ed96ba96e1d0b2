#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "sim/findings.h"
#include "sim/swarm.h"

namespace verbena::sim {

// A message of an unreliable service, as it was sent.
struct Letter {
  uint64_t id = 0;
  std::vector<std::byte> bytes;
  std::optional<uint32_t> immediate;
  bool is_write = false;  // an RDMA write: its bytes are not in the receive buffer
};

// The oracle of the unreliable services, for one sender and one receiver: a message can be lost,
// but a received message was sent, and is complete. On a link that does not duplicate packets it
// arrives at most once. If the link does not reorder either, a connection keeps the order.
class MessagesOracle {
 public:
  enum class Promise : uint8_t { kWhole, kOnce, kInOrder };

  explicit MessagesOracle(Promise promise) : promise_(promise) {}

  [[nodiscard]] static Promise PromiseOf(const Swarm& swarm, bool is_connection) {
    if (swarm.duplication > 0) return Promise::kWhole;
    return is_connection && swarm.jitter == Duration() ? Promise::kInOrder : Promise::kOnce;
  }

  void Sent(Letter letter) {
    ++sent_;
    letters_.push_back(std::move(letter));
  }

  // A message that was passed to Sent did not leave after all.
  void NotSent() { --sent_; }

  // Finds the sent message that was received, and returns its id; a finding and nullopt if there is
  // none. For a write, only the size of `bytes` counts.
  std::optional<uint64_t> Received(std::span<const std::byte> bytes,
                                   std::optional<uint32_t> immediate, bool is_write,
                                   Findings& findings) {
    const auto found = std::ranges::find_if(letters_, [&](const Letter& letter) {
      if (letter.immediate != immediate || letter.is_write != is_write) return false;
      return is_write ? letter.bytes.size() == bytes.size()
                      : std::ranges::equal(letter.bytes, bytes);
    });
    if (found == letters_.end()) {
      findings.Add("messages", "a message was received that was not sent, or not then");
      return std::nullopt;
    }
    const uint64_t id = found->id;
    ++received_;
    if (promise_ == Promise::kInOrder) {
      letters_.erase(letters_.begin(), found + 1);
    } else if (promise_ == Promise::kOnce) {
      letters_.erase(found);
    }
    return id;
  }

  [[nodiscard]] uint64_t lost() const { return sent_ - std::min(sent_, received_); }

 private:
  Promise promise_;
  std::deque<Letter> letters_;  // can still be received
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

}  // namespace verbena::sim
