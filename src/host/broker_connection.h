#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"
#include "host/channel.h"
#include "host/ids.h"

namespace verbena::host {

struct ConnectionOptions {
  // Messages that a guest may send without a pause: it declares each of its regions when it
  // attaches...
  uint32_t burst_max = 8'192;
  // ...and what it may send in a second. Beyond that it is read later.
  uint32_t rate = 2'000;
  // Messages that wait until the other end reads. One that reads nothing is disconnected.
  size_t unsent_max = 16'384;
};

// One connection of a broker: what waits to be sent, and how much may still be received.
//
// One thread.
class BrokerConnection {
 public:
  BrokerConnection(BrokerChannel channel, const ConnectionOptions& options, Time now);

  [[nodiscard]] const BrokerChannel& channel() const { return channel_; }
  [[nodiscard]] Time since() const { return since_; }

  // The guest at the other end, once it has said hello.
  std::optional<GuestId> guest = {};
  bool is_operator = false;
  uint32_t watched_events = 0;  // of epoll

  // False if the other end is gone, or reads nothing.
  [[nodiscard]] bool Send(const BrokerMessage& message);
  // Sends what waits; false as above.
  [[nodiscard]] bool Flush();
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }

  // The next message, unless the other end has sent more than it may.
  [[nodiscard]] std::optional<BrokerChannel::Received> Receive(Time now);
  [[nodiscard]] bool has_ended() const { return channel_.has_ended(); }
  // Whether it has sent more than it may: it is not to be read now.
  [[nodiscard]] bool is_throttled(Time now);

 private:
  void Refill(Time now);

  BrokerChannel channel_;
  const ConnectionOptions options_;
  const Time since_;
  std::deque<BrokerMessage> unsent_;
  double allowance_;
  Time refilled_;
};

}  // namespace verbena::host
