#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <set>
#include <utility>

#include "rdmacm/rsocket/limits.h"

namespace verbena::rsockets {

// The connections of a listener: those in the handshake, and those that wait for raccept. The
// owner's lock guards it.
template <class Connection>
class AcceptQueue {
 public:
  explicit AcceptQueue(int backlog)
      : established_max_(static_cast<std::size_t>(std::clamp(backlog, 1, kBacklogMax))) {}

  // No further handshake may begin.
  [[nodiscard]] bool full() const {
    return handshakes_.size() + established_.size() >= established_max_ ||
           handshakes_.size() >= kHandshakesMax;
  }
  [[nodiscard]] bool empty() const { return established_.empty(); }

  void BeginHandshake(std::shared_ptr<Connection> connection) {
    handshakes_.insert(std::move(connection));
  }
  // The handshake has succeeded, or failed.
  void EndHandshake(const std::shared_ptr<Connection>& connection, bool succeeded) {
    if (handshakes_.erase(connection) > 0 && succeeded) established_.push_back(connection);
  }
  // REQUIRES: not empty().
  [[nodiscard]] std::shared_ptr<Connection> Pop() {
    auto first = std::move(established_.front());
    established_.pop_front();
    return first;
  }
  // Removes all connections, in either state, because the listener closes.
  [[nodiscard]] std::deque<std::shared_ptr<Connection>> TakeAll() {
    std::deque<std::shared_ptr<Connection>> all = std::exchange(established_, {});
    all.insert(all.end(), handshakes_.begin(), handshakes_.end());
    handshakes_.clear();
    return all;
  }

 private:
  const std::size_t established_max_;
  std::set<std::shared_ptr<Connection>> handshakes_;
  std::deque<std::shared_ptr<Connection>> established_;
};

}  // namespace verbena::rsockets
