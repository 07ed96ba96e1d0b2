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

// After a call that found nothing, this many calls in a row must find something before a call takes
// more than one message. Looking for a second message costs the kernel 0.2 us, which matters for
// single datagrams; in a stream, a later call takes all that have arrived.
inline constexpr uint64_t kStreak = 2;

// After this many calls in a row without two datagrams together, a stream has ended: about half a
// millisecond.
inline constexpr uint64_t kStreamEnd = 1'000;

struct ReceiveLimits {
  size_t messages = 32;
  // The maximum size of a datagram without coalescing; longer ones are dropped. Enough for a
  // payload of 4 KiB and all headers.
  size_t datagram_bytes = 4'608;
};

// Receives datagrams with one system call, and splits coalesced messages.
//
// Streams and single datagrams need different calls. In a stream the kernel coalesces, and a call
// takes many messages with their control messages. A single datagram costs 0.16 us less by
// recvfrom, which returns no control messages, so the kernel must not coalesce then. Coalescing is
// turned off when a stream has ended, and on again when kStreak datagrams were found in a row.
//
// Invariant: headers_[i] points to envelopes_[i] and the i-th buffer, and all except the first
// used_ are initialized for the next call. Memory is allocated in the constructor only. One thread
// at a time; the socket outlives it.
class ReceiveBurst {
 public:
  ReceiveBurst(const UdpSocket& socket, const ReceiveLimits& limits);
  ReceiveBurst(const ReceiveBurst&) = delete;
  ReceiveBurst& operator=(const ReceiveBurst&) = delete;

  // The next datagrams, in the order of arrival; empty if there are none now. There may be more.
  // Valid until the next call.
  [[nodiscard]] std::span<const ReceivedDatagram> Receive();

  // From now on every datagram has control messages: see UdpSocket::ReportHeaders.
  void ExpectHeaders();

  // Includes the counters of the kernel, which costs a system call.
  [[nodiscard]] ReceiveCounters Counters() const;

 private:
  struct Envelope {
    SocketAddress from;
    iovec data{};
    ControlMessages control;
  };

  void Prepare(size_t index);
  // The number of messages received, into the first buffers.
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
  uint64_t streak_ = kStreak;  // calls in a row that found something
  uint64_t lone_calls_ = 0;    // calls in a row with at most one datagram, the last with none
  bool is_stream_ = true;
  bool expects_headers_ = false;
  std::vector<ReceivedDatagram> datagrams_;
  ReceiveCounters counters_;
};

}  // namespace verbena::fabric
