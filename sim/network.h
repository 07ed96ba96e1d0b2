#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "fabric/endpoint_ports.h"
#include "sim/swarm.h"
#include "transport/outbox.h"
#include "transport/ud/packet_origin.h"
#include "wire/pcap.h"
#include "wire/roce/types.h"

namespace verbena::sim {

// What happens at a moment: a packet arrives at a queue pair, or pages do.
struct Event {
  wire::QpNumber qp;
  uint32_t from = 0;                              // endnode
  std::vector<std::byte> packet;                  // arrives, or...
  std::optional<transport::PageRequest> request;  // ...is answered
  bool available = true;
  bool is_forged = false;  // by one who does not know where the sequence stands
};

// The links between all endnodes, and the clock: events in the order of their times, and at one
// time in the order in which they were added. One thread.
class Network {
 public:
  Network(const Swarm& swarm, Random random, wire::PcapngWriter* capture)
      : swarm_(swarm), random_(random), capture_(capture) {}

  // Of an endnode: its machine's, and the port of its endpoint there.
  [[nodiscard]] static wire::Ipv4Address AddressOf(const Swarm& swarm, uint32_t node) {
    return wire::Ipv4Address(0x0A000001 + (swarm.one_machine ? 0 : node));
  }
  [[nodiscard]] static uint16_t PortOf(uint32_t node) {
    return fabric::EndpointPorts{}.PortOf(fabric::EndpointId(static_cast<uint16_t>(node)));
  }
  // What a packet between the two looks like to its receiver.
  [[nodiscard]] static transport::PacketOrigin OriginOf(const Swarm& swarm, uint32_t from,
                                                        uint32_t to) {
    return {.source = wire::IpAddress::FromIpv4(AddressOf(swarm, from)),
            .destination = wire::IpAddress::FromIpv4(AddressOf(swarm, to)),
            .source_port = PortOf(from),
            .hop_limit = 64};
  }

  // Sends a packet from one endnode to a queue pair of another, with what a link may do to it.
  void Send(Time now, uint32_t from, uint32_t to, wire::QpNumber qp,
            std::span<const std::byte> packet);

  // Nothing goes from one endnode to another until then.
  void Cut(uint32_t from, uint32_t to, Time until) { cuts_[{from, to}] = until; }
  // Nothing reaches this queue pair any more, until another one has its number.
  void Sever(wire::QpNumber qp) { severed_.insert(qp.value()); }
  void Restore(wire::QpNumber qp) { severed_.erase(qp.value()); }
  // The process that has this queue pair has died: nobody brings the pages that it waits for.
  void ForgetRequests(wire::QpNumber qp);
  // From now on nothing goes wrong that has not.
  void Heal();

  void Add(Time at, Event event);
  [[nodiscard]] Time next_time() const {
    return events_.empty() ? Time::Never() : events_.begin()->first.first;
  }
  // The next event due at `now`.
  [[nodiscard]] std::optional<Event> Take(Time now);

 private:
  void Capture(Time now, uint32_t from, uint32_t to, std::span<const std::byte> packet);

  Swarm swarm_;
  Random random_;
  wire::PcapngWriter* capture_;
  std::map<std::pair<Time, uint64_t>, Event> events_;
  std::map<std::pair<uint32_t, uint32_t>, Time> cuts_;
  std::set<uint32_t> severed_;
  uint64_t sequence_ = 0;
};

}  // namespace verbena::sim
