#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/result.h"
#include "fabric/file_descriptor.h"
#include "verbena/cm_event.h"

namespace verbena::fabric {

// What became of a read or write of a stream.
struct TcpTransfer {
  enum class End : uint8_t {
    kNone,     // there may be more
    kBlocked,  // no more now
    kClosed,   // by the peer, in order
    kBroken,
  };
  size_t bytes = 0;
  End end = End::kNone;
};

struct TcpBindOptions {
  bool own_family_only = false;  // an IPv6 wildcard does not include IPv4
};

// A TCP socket of the kernel that never waits. Segments leave at once (TCP_NODELAY), because its
// user writes whole bursts.
//
// Its owner guards it; another thread may wait for the descriptor.
class TcpSocket {
 public:
  // Bound to an address of this machine; port 0: an ephemeral one. A port on which connections of
  // an earlier listener are in TIME_WAIT can be bound.
  [[nodiscard]] static ErrorOr<TcpSocket> Bind(const CmAddress& address,
                                               const TcpBindOptions& options = {});
  TcpSocket() = default;

  [[nodiscard]] bool is_open() const { return file_.is_open(); }
  [[nodiscard]] int fd() const { return file_.get(); }

  // --- A listener. ---

  [[nodiscard]] ErrorOr<void> Listen(uint32_t backlog) const;
  // The next connection; nullopt if none waits. An error if the system has no descriptor or memory
  // for it: it waits on.
  [[nodiscard]] ErrorOr<std::optional<TcpSocket>> Accept() const;

  // --- A connection. ---

  // Begins to connect. The socket is writable when that has ended.
  [[nodiscard]] ErrorOr<void> Connect(const CmAddress& to) const;
  // How it has ended: 0 if it is connected, else the error of the system.
  [[nodiscard]] int ConnectError() const;

  [[nodiscard]] TcpTransfer Read(std::span<std::byte> into) const;
  // Writes the pieces in order, in one system call.
  [[nodiscard]] TcpTransfer Write(const std::array<std::span<const std::byte>, 2>& pieces) const;
  // Nothing more is written: the peer reads the end of the stream.
  void CloseWrites() const;
  // Ends the connection in the middle: the peer gets a reset. Bytes on their way are lost.
  void Reset() const;

  [[nodiscard]] CmAddress local() const;
  [[nodiscard]] CmAddress peer() const;

 private:
  explicit TcpSocket(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace verbena::fabric
