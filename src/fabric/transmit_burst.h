#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/control_messages.h"
#include "fabric/counters.h"
#include "fabric/datagram.h"
#include "fabric/socket_address.h"
#include "fabric/staging.h"
#include "fabric/udp_socket.h"

namespace verbena::fabric {

// What the kernel cuts into datagrams at most, on all kernels that can: in number, and in bytes
// behind the longer of the two IP headers and the UDP header.
inline constexpr size_t kSegmentsMax = 64;
inline constexpr size_t kMessageBytesMax = 65'535 - 40 - 8;

struct TransmitLimits {
  size_t messages = 64;
  size_t bytes = 512 << 10;  // stays in the second-level cache between the copy and the kernel's
};

// Collects datagrams and sends them with one system call.
//
// Datagrams that follow each other on the same route and have the same size, the last of them
// possibly a smaller one, become one message, which the kernel cuts again; unless the route asks
// for single ones.
//
// Invariant: messages first_ to messages_.size() wait to be sent; their bytes are in staging_, in
// order. The last one is open as long as another datagram may join it. Memory is allocated in the
// constructor only. One thread at a time; the socket outlives it.
class TransmitBurst {
 public:
  enum class FlushResult : uint8_t {
    kDone,
    kBlocked,  // the kernel's buffer is full; flush again when the socket is writable
  };

  TransmitBurst(const UdpSocket& socket, const TransmitLimits& limits);
  TransmitBurst(const TransmitBurst&) = delete;
  TransmitBurst& operator=(const TransmitBurst&) = delete;

  // A place for the next datagram, which has 1 to kMessageBytesMax bytes; nullopt when there is no
  // room before the next Flush. The bytes are the caller's to write until then.
  [[nodiscard]] std::optional<Reservation> Reserve(const Route& route, size_t size);

  // Takes the last Reserve back. Once for each, before the next call.
  void CancelLast();

  // Sends what was reserved. What the kernel has no room for waits for the next Flush; what it can
  // never send is dropped and counted.
  FlushResult Flush();

  // How many datagrams of up to `size` bytes fit at least before the next Flush.
  [[nodiscard]] size_t room(size_t size) const;
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  // Datagrams may leave as segments of one message.
  [[nodiscard]] bool segments() const { return segmentation_; }
  [[nodiscard]] const TransmitCounters& counters() const { return counters_; }

 private:
  struct Message {
    Route route;
    std::span<std::byte> bytes;
    size_t segment_size = 0;
    size_t segments = 0;
    size_t last_size = 0;  // of the last segment
  };
  // What the kernel wants to see of a message. They stay where they are: headers_ points to them.
  struct Envelope {
    SocketAddress to;
    iovec data{};
    ControlMessages control;
  };

  bool CanJoin(const Message& message, const Route& route, size_t size) const;
  void Seal();
  // False when the kernel's buffer is full.
  bool SendSome();
  int SendMessages(size_t count);
  bool OnError(int code);
  void DropFirst(DropReason reason);
  void Clear();

  const int fd_;
  const SocketFamily family_;
  const size_t messages_max_;
  bool segmentation_;
  Staging staging_;
  std::vector<Message> messages_;
  std::vector<Envelope> envelopes_;
  std::vector<mmsghdr> headers_;
  size_t sealed_ = 0;     // messages that have a header, and so take no more datagrams
  size_t first_ = 0;      // of the messages that are not sent
  bool retried_ = false;  // the first one, after an error that was not its own
  TransmitCounters counters_;
};

}  // namespace verbena::fabric
