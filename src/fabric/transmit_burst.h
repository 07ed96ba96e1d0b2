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

  // Sends what was reserved. What the kernel has no room for waits for the next Flush; what it can
  // never send is dropped and counted.
  FlushResult Flush();

  [[nodiscard]] const TransmitCounters& counters() const { return counters_; }

 private:
  // What the kernel wants to see of a message. They stay where they are: headers_ points to them.
  struct Envelope {
    SocketAddress to;
    iovec data{};
    ControlMessages control;
  };

  void WriteHeaders();
  // False when the kernel's buffer is full.
  bool SendSome();
  int SendMessages(size_t count);
  bool OnError(int code);
  void DropFirst(SendDrop reason);

  const int fd_;
  const SocketFamily family_;
  std::vector<Envelope> envelopes_;
  std::vector<mmsghdr> headers_;
  size_t first_ = 0;      // of the messages that are not sent
  bool retried_ = false;  // the first one, after an error that was not its own
  TransmitCounters counters_;
};

}  // namespace verbena::fabric
