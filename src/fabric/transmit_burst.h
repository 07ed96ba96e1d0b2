#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/control_messages.h"
#include "fabric/counters.h"
#include "fabric/fabric.h"
#include "fabric/message_batch.h"
#include "fabric/socket_address.h"
#include "fabric/udp_socket.h"

namespace verbena::fabric {

// Sends a batch of messages with one system call.
//
// Invariant: the messages of the batch from first_ on wait to be sent; those that are sealed have a
// header. Memory is allocated in the constructor only. One thread at a time; the socket outlives
// it.
class TransmitBurst : public MessageBatch {
 public:
  TransmitBurst(const UdpSocket& socket, const TransmitLimits& limits);

  // Sends the reserved datagrams. Those that the kernel has no room for wait for the next Flush;
  // those that it can never send are dropped and counted.
  FlushResult Flush();

  [[nodiscard]] const TransmitCounters& counters() const { return counters_; }

 private:
  // The parts of a message that the kernel reads. Never moved, because headers_ points to them.
  struct Envelope {
    SocketAddress to;
    iovec data{};
    ControlMessages control;
  };

  void WriteHeaders();
  // False if the send buffer is full.
  bool SendSome();
  int SendMessages(size_t count);
  bool OnError(int code);
  void DropFirst(SendDrop reason);

  const int fd_;
  const SocketFamily family_;
  std::vector<Envelope> envelopes_;
  std::vector<mmsghdr> headers_;
  size_t first_ = 0;      // of the messages not sent yet
  bool retried_ = false;  // the first message, after an error of an earlier one
  TransmitCounters counters_;
};

}  // namespace verbena::fabric
