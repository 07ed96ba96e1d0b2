#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "host/messages.h"

namespace verbena::host {

// One end of a connection between a broker and a guest or operator: a Unix socket of packets, which
// never blocks. Owns the socket. One thread at a time.
class BrokerChannel {
 public:
  // What a process may receive, and what it is.
  struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
  };
  struct Received {
    BrokerMessage message;
    FileDescriptor file;
  };
  enum class Status : uint8_t { kDone, kFull, kEnded };

  // To the broker at this path.
  [[nodiscard]] static ErrorOr<BrokerChannel> Connect(const std::string& path);
  explicit BrokerChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const { return socket_.get(); }
  // As the kernel knows it, from when it connected.
  [[nodiscard]] std::optional<Peer> peer() const;

  // `file`: goes along, and stays open here; -1: none. kFull: try again when it can be written.
  [[nodiscard]] Status Send(const BrokerMessage& message, int file = -1) const;
  // nullopt: nothing is there yet, or the other end is gone or sends what is no message: see
  // has_ended.
  [[nodiscard]] std::optional<Received> Receive();
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  FileDescriptor socket_;
  bool has_ended_ = false;
};

// A socket at this path that brokers listen on. Refuses a path at which another broker listens; a
// socket that was left there is replaced. The folder is made if it is missing, for this user only.
[[nodiscard]] ErrorOr<FileDescriptor> ListenAt(const std::string& path);

}  // namespace verbena::host
