#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/control_messages.h"
#include "fabric/counters.h"
#include "fabric/datagram.h"
#include "fabric/socket_address.h"
#include "fabric/udp_socket.h"

namespace verbena::fabric {

// After a call that found nothing, so many calls in a row must find something before one takes more
// than one message. The kernel looks in vain for a second one at 0.2 us, which are missed where
// single datagrams come and go; in a stream a later call takes all that has come.
inline constexpr uint64_t kStreak = 2;

// After so many calls in a row that found no two datagrams together, a stream has ended: about half
// a millisecond.
inline constexpr uint64_t kStreamEnd = 1'000;

struct ReceiveLimits {
  size_t messages = 32;
  // Of a datagram when the kernel hands over single ones; longer ones are dropped. Enough for a
  // payload of 4 KiB and all headers.
  size_t datagram_bytes = 4'608;
};

// Receives what has arrived with one system call, and takes apart what the kernel handed over as
// one.
//
// Streams and lone datagrams want different calls. In a stream the kernel coalesces, and a call
// takes many messages and what is to be said about each. A lone datagram costs 0.16 us less by
// recvfrom, which can say nothing beside the bytes: so the kernel must not coalesce then. When a
// stream has ended it is turned off, and on again when kStreak datagrams were found in a row.
//
// Invariant: headers_[i] points to envelopes_[i] and the i-th buffer, and all but the first used_
// of them are as the kernel wants them before a call. Memory is allocated in the constructor only.
// One thread at a time; the socket outlives it.
class ReceiveBurst {
 public:
  ReceiveBurst(const UdpSocket& socket, const ReceiveLimits& limits);
  ReceiveBurst(const ReceiveBurst&) = delete;
  ReceiveBurst& operator=(const ReceiveBurst&) = delete;

  // The next datagrams, in the order in which they arrived; none if there are none now. There may
  // be more. Valid until the next call.
  [[nodiscard]] std::span<const ReceivedDatagram> Receive();

  // Something is to be said about every datagram from now on: see UdpSocket::ReportHeaders.
  void ExpectHeaders();

  // With what the kernel has counted, which costs a system call.
  [[nodiscard]] ReceiveCounters Counters() const;

 private:
  struct Envelope {
    SocketAddress from;
    iovec data{};
    ControlMessages control;
  };

  void Prepare(size_t index);
  // How many messages were received, into the first buffers.
  size_t ReceiveMessages();
  size_t ReceiveLone();
  void BeginStream();
  void EndStream();
  bool Coalesce(bool on) const;
  void TakeApart(const mmsghdr& header, const Envelope& envelope);

  const int fd_;
  const bool can_coalesce_;
  const size_t buffer_bytes_;
  const std::unique_ptr<std::byte[]> buffers_;
  std::vector<Envelope> envelopes_;
  std::vector<mmsghdr> headers_;
  size_t used_ = 0;            // by the last call
  uint64_t streak_ = kStreak;  // calls that found something, since one did not
  uint64_t lone_calls_ = 0;    // calls that found one datagram at most, and none the last time
  bool is_stream_ = true;
  bool expects_headers_ = false;
  std::vector<ReceivedDatagram> datagrams_;
  ReceiveCounters counters_;
};

}  // namespace verbena::fabric
