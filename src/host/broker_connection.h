#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/file_descriptor.h"
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
  // A process that shares buffers (buffer_service.h): it ends with its connection, and with its
  // process, in whose children the socket may be open.
  FileDescriptor buffer_process = {};  // a pidfd
  uint32_t watched_events = 0;         // of epoll

  // False if the other end is gone, or reads nothing. `file` goes along.
  [[nodiscard]] bool Send(const BrokerMessage& message,
                          std::shared_ptr<const FileDescriptor> file = nullptr);
  // Sends what waits; false as above.
  [[nodiscard]] bool Flush();
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }

  // The next message, unless the other end has sent more than it may.
  [[nodiscard]] std::optional<BrokerChannel::Received> Receive(Time now);
  [[nodiscard]] bool has_ended() const { return channel_.has_ended(); }
  // Whether it has sent more than it may: it is not to be read now.
  [[nodiscard]] bool is_throttled(Time now);

 private:
  struct Unsent {
    BrokerMessage message;
    std::shared_ptr<const FileDescriptor> file;
  };

  void Refill(Time now);

  BrokerChannel channel_;
  const ConnectionOptions options_;
  const Time since_;
  std::deque<Unsent> unsent_;
  double allowance_;
  Time refilled_;
};

}  // namespace verbena::host
