#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "fabric/address.h"
#include "fabric/counters.h"
#include "fabric/datagram.h"
#include "fabric/endpoint_ports.h"
#include "fabric/message_batch.h"

namespace verbena::fabric {

enum class FlushResult : uint8_t {
  kDone,
  kBlocked,  // the send buffer is full; flush again when the socket is writable
};

// An endpoint of this process on a network. Start here.
//
//   if (auto place = fabric->Reserve(route, size)) write(place->bytes, place->ip_id);
//   fabric->Flush();
//   for (const ReceivedDatagram& datagram : fabric->Receive()) ...
//
// The work per datagram is the same for all networks; the work per burst is virtual (UdpFabric has
// a socket, the simulator a model). Thread rule: one thread sends and one receives at a time,
// possibly different ones; any thread may wait for fd().
class Fabric {
 public:
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  virtual ~Fabric() = default;

  [[nodiscard]] EndpointId endpoint() const { return endpoint_; }
  // Also the source port of all datagrams.
  [[nodiscard]] uint16_t port() const { return port_; }
  // Readable when there is something to receive, writable when a blocked Flush can continue.
  [[nodiscard]] virtual int fd() const = 0;

  // For the sending thread; see MessageBatch.
  [[nodiscard]] std::optional<Reservation> Reserve(const Route& route, size_t size) {
    return batch_.Reserve(route, size);
  }
  void CancelLast() { batch_.CancelLast(); }
  [[nodiscard]] size_t room(size_t size) const { return batch_.room(size); }
  [[nodiscard]] bool segments() const { return batch_.segments(); }
  FlushResult Flush() { return batch_.empty() ? FlushResult::kDone : Send(); }
  [[nodiscard]] virtual TransmitCounters transmit_counters() const = 0;

  // The next datagrams, in the order of arrival; empty if there are none now. There may be more.
  // Valid until the next call.
  [[nodiscard]] virtual std::span<const ReceivedDatagram> Receive() = 0;
  // From now on datagrams have their destination, interface and traffic class; before, these may be
  // unknown.
  virtual void ReportHeaders() = 0;
  [[nodiscard]] virtual ReceiveCounters receive_counters() const = 0;

  // Starts and stops receiving datagrams to this group.
  [[nodiscard]] virtual ErrorOr<void> Join(const IpAddress& group) = 0;
  virtual void Leave(const IpAddress& group) = 0;

  // What the user should know about this network, one line each. Each is returned once.
  [[nodiscard]] virtual std::vector<std::string> TakeWarnings() = 0;

 protected:
  // The derived class owns the batch.
  Fabric(EndpointId endpoint, uint16_t port, MessageBatch& batch)
      : endpoint_(endpoint), port_(port), batch_(batch) {}

 private:
  // Sends the batch, which is not empty.
  virtual FlushResult Send() = 0;

  const EndpointId endpoint_;
  const uint16_t port_;
  MessageBatch& batch_;
};

}  // namespace verbena::fabric
