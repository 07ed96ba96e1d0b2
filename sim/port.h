#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "sim/machine.h"
#include "sim/network.h"
#include "sim/swarm.h"

namespace verbena::sim {

// The endpoint of an endnode on the simulated network. Links that lose segments lose the messages
// that the adapter's own batch has made. One thread.
class Port final : public fabric::Fabric {
 public:
  // Sees every packet just before the adapter receives it.
  using Tap = std::function<void(const Event& arrival)>;

  Port(const Swarm& swarm, uint32_t node, const VirtualClock& clock, Network& network, Tap tap);

  // Datagrams to a group that the endpoint has not joined are dropped.
  void Arrive(Event arrival);
  // The process has died: it sends nothing any more.
  void Die() { is_dead_ = true; }
  [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }

  [[nodiscard]] int fd() const override { return -1; }
  [[nodiscard]] fabric::TransmitCounters transmit_counters() const override { return {}; }
  [[nodiscard]] std::span<const fabric::ReceivedDatagram> Receive() override;
  void ReportHeaders() override {}
  [[nodiscard]] fabric::ReceiveCounters receive_counters() const override { return {}; }
  [[nodiscard]] ErrorOr<void> Join(const IpAddress& group) override;
  void Leave(const IpAddress& group) override;
  [[nodiscard]] std::vector<std::string> TakeWarnings() override { return {}; }

 private:
  fabric::FlushResult Send() override;
  // nullopt if no process has the port.
  [[nodiscard]] std::optional<uint32_t> NodeWith(uint16_t port) const;

  const Swarm swarm_;
  const uint32_t node_;
  const VirtualClock& clock_;
  Network& network_;
  const Tap tap_;
  fabric::MessageBatch batch_;
  std::deque<Event> waiting_;
  std::vector<Event> taken_;  // what datagrams_ views
  std::vector<fabric::ReceivedDatagram> datagrams_;
  std::set<Ipv4Address> groups_;
  bool is_dead_ = false;
};

}  // namespace verbena::sim
