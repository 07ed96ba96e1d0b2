#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/broker.h"

// The part of broker.h that serves processes which share buffers.

namespace verbena::host {

bool Broker::AttachBuffers(ConnectionId id, const BufferHelloMessage& hello) {
  BrokerConnection& connection = connections_.at(id);
  if (hello.version != kProtocolVersion) {
    return Refuse(connection, "the process speaks version " + std::to_string(hello.version) +
                                  " of the protocol, and the broker version " +
                                  std::to_string(kProtocolVersion));
  }
  if (!IsAllowed(connection, false)) {
    return Refuse(connection, "the user of the process is not allowed (--allow-user)");
  }
  const auto peer = connection.channel().peer();
  connection.buffer_process =
      FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, peer->pid, 0)));
  const int process = connection.buffer_process.get();
  if (!connection.buffer_process.is_open() ||
      !Watch(process, Source::kBufferProcess, id, EPOLLIN)) {
    return Refuse(connection, "the broker cannot watch the process");
  }
  buffers_.Attach(id, {.pid = static_cast<uint32_t>(peer->pid), .uid = peer->uid},
                  IsAllowed(connection, true));
  return true;
}

// A connection that cannot be sent to ends, which may leave others something to hear.
void Broker::SendBuffers() {
  for (auto outgoing = buffers_.TakeOutgoing(); !outgoing.empty();
       outgoing = buffers_.TakeOutgoing()) {
    for (auto& [client, message, file] : outgoing) {
      const auto found = connections_.find(client);
      if (found == connections_.end()) continue;
      if (!found->second.Send(message, std::move(file))) {
        EndConnection(client);
      } else {
        WatchConnection(client, found->second);
      }
    }
  }
}

}  // namespace verbena::host
