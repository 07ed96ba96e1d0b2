#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "fabric/counters.h"
#include "fabric/datagram.h"
#include "fabric/endpoints.h"
#include "fabric/fabric.h"
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

// An endpoint of this process on the machine's networks: its socket, and a burst for each
// direction.
//
// Sends and receives on all addresses of the machine, IPv4 and IPv6, with at most one system call
// per burst and direction, and without allocation after Open.
class UdpFabric final : public Fabric {
 public:
  [[nodiscard]] static ErrorOr<std::unique_ptr<UdpFabric>> Open(const UdpFabricOptions& options);

  [[nodiscard]] int fd() const override { return socket_.fd(); }
  [[nodiscard]] TransmitCounters transmit_counters() const override { return transmit_.counters(); }
  [[nodiscard]] std::span<const ReceivedDatagram> Receive() override { return receive_.Receive(); }
  void ReportHeaders() override {
    socket_.ReportHeaders();
    receive_.ExpectHeaders();
  }
  [[nodiscard]] ReceiveCounters receive_counters() const override { return receive_.Counters(); }
  [[nodiscard]] ErrorOr<void> Join(const IpAddress& group) override;
  void Leave(const IpAddress& group) override;
  [[nodiscard]] std::vector<std::string> TakeWarnings() override;

  [[nodiscard]] const UdpSocket& socket() const { return socket_; }

 private:
  UdpFabric(UdpSocket socket, EndpointId endpoint, const UdpFabricOptions& options);

  FlushResult Send() override { return transmit_.Flush(); }

  UdpSocket socket_;
  TransmitBurst transmit_;
  ReceiveBurst receive_;
  std::vector<std::string> warnings_;
};

}  // namespace verbena::fabric
