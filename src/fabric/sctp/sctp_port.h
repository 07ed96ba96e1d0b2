#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/result.h"
#include "fabric/file_descriptor.h"
#include "fabric/socket_address.h"
#include "verbena/cm_event.h"

namespace verbena::fabric {

struct SctpBindOptions {
  bool own_family_only = false;  // an IPv6 wildcard does not include IPv4
};

// The two ends of datagrams, as a port sees them.
struct SctpPath {
  UdpAddress peer = {};
  IpAddress local = {};  // unspecified: the system chooses it
  uint32_t interface = 0;

  friend bool operator==(const SctpPath&, const SctpPath&) = default;
};

// A UDP socket that carries SCTP packets, each in a datagram (RFC 6951). Its number is the SCTP
// port of its user, too, so that a peer that knows one knows the other. Never waits.
//
// Its owner guards it; another thread may wait for the descriptor.
class SctpPort {
 public:
  // Port 0: an ephemeral one.
  [[nodiscard]] static ErrorOr<std::shared_ptr<SctpPort>> Open(const CmAddress& at,
                                                               const SctpBindOptions& options);
  explicit SctpPort(FileDescriptor file, SocketFamily family)
      : file_(std::move(file)), family_(family) {}

  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] CmAddress local() const;

  // From now on it has datagrams of this peer alone, and hears that the peer's port is closed.
  [[nodiscard]] ErrorOr<void> ConnectTo(const CmAddress& to);

  struct Received {
    size_t size = 0;  // 0: none waits
    SctpPath path = {};
    bool is_refused = false;  // the peer's port is closed
  };
  [[nodiscard]] Received Receive(std::span<std::byte> into) const;
  // A datagram that the system does not take is lost, as any may be.
  void Send(const SctpPath& path, std::span<const std::byte> bytes) const;

  // Bytes of a datagram on the path that is not fragmented, as far as the system knows.
  [[nodiscard]] static size_t DatagramMax(const SctpPath& path);

 private:
  FileDescriptor file_;
  SocketFamily family_;
  bool is_connected_ = false;
};

}  // namespace verbena::fabric
