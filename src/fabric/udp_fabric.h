#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/counters.h"
#include "fabric/datagram.h"
#include "fabric/endpoints.h"
#include "fabric/error.h"
#include "fabric/receive_burst.h"
#include "fabric/transmit_burst.h"
#include "fabric/udp_socket.h"

namespace verbena::fabric {

struct UdpFabricOptions {
  EndpointOptions endpoint{};
  UdpSocketOptions socket{};
  TransmitLimits transmit{};
  ReceiveLimits receive{};
};

// An endpoint of this process on the network: its socket, and a burst each way. Start here.
//
//   if (auto place = fabric->Reserve(route, size)) write(place->bytes, place->ip_id);
//   fabric->Flush();
//   for (const Datagram& datagram : fabric->Receive()) ...
//
// Sends and receives on all addresses of the machine, of IPv4 and IPv6, with at most one system
// call per burst each way and nothing allocated after Open. Thread rule: one thread sends and one
// receives at a time, and they may be different ones; fd() may be waited for by any.
class UdpFabric {
 public:
  using FlushResult = TransmitBurst::FlushResult;

  [[nodiscard]] static Result<std::unique_ptr<UdpFabric>, FabricError> Open(
      const UdpFabricOptions& options);
  UdpFabric(const UdpFabric&) = delete;
  UdpFabric& operator=(const UdpFabric&) = delete;

  [[nodiscard]] EndpointId endpoint() const { return endpoint_; }
  // Also the source port of all that is sent.
  [[nodiscard]] uint16_t port() const { return port_; }
  // Readable when there is something to receive, writable when a blocked Flush may go on.
  [[nodiscard]] int fd() const { return socket_.fd(); }
  [[nodiscard]] const UdpSocket& socket() const { return socket_; }

  // The sender's; see TransmitBurst.
  [[nodiscard]] std::optional<Reservation> Reserve(const Route& route, size_t size) {
    return transmit_.Reserve(route, size);
  }
  void CancelLast() { transmit_.CancelLast(); }
  FlushResult Flush() { return transmit_.empty() ? FlushResult::kDone : transmit_.Flush(); }
  [[nodiscard]] size_t room(size_t size) const { return transmit_.room(size); }
  [[nodiscard]] bool segments() const { return transmit_.segments(); }
  [[nodiscard]] const TransmitCounters& transmit_counters() const { return transmit_.counters(); }

  // The receiver's; see ReceiveBurst.
  [[nodiscard]] std::span<const Datagram> Receive() { return receive_.Receive(); }
  // Datagrams have their destination, interface and traffic class from now on; before, none is
  // known.
  void TellHeaders() {
    socket_.TellHeaders();
    receive_.ExpectHeaders();
  }
  [[nodiscard]] ReceiveCounters receive_counters() const { return receive_.Counters(); }

  // What the user should know about this machine, a line each; told once.
  [[nodiscard]] std::vector<std::string> TakeNotes();

 private:
  UdpFabric(UdpSocket socket, EndpointId endpoint, const UdpFabricOptions& options);

  UdpSocket socket_;
  const EndpointId endpoint_;
  const uint16_t port_;
  TransmitBurst transmit_;
  ReceiveBurst receive_;
  std::vector<std::string> notes_;
};

}  // namespace verbena::fabric
