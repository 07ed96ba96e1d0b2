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
#include "odp/page_job.h"
#include "sim/swarm.h"
#include "transport/common/packet_origin.h"
#include "wire/pcap.h"
#include "wire/roce/types.h"

namespace verbena::sim {

// An event at an endnode: a packet arrives, or pages do.
struct Event {
  uint32_t to = 0;
  uint32_t from = 0;
  std::vector<std::byte> packet = {};    // that arrives, or...
  std::optional<odp::PageJob> job = {};  // ...that is done
  uint8_t segment = 0;                   // of the message that the packet left in
  bool is_forged = false;                // without knowledge of the sequence number
  bool is_corrupted = false;             // in the network
  Ipv4Address group = {};                // destination group; 0: the endnode itself
};

// The links between all endnodes, and the events in order of time, and at equal times in the order
// of insertion. One thread.
class Network {
 public:
  struct Counters {
    uint64_t packets = 0;
    uint64_t digest = 0;         // of all packets
    uint64_t segments_lost = 0;  // packets that left as segments of one message
  };
  // Sees every packet that is sent.
  using Tap = std::function<void(uint32_t from, uint32_t to, std::span<const std::byte> packet)>;

  Network(const Swarm& swarm, Random random, wire::PcapngWriter* capture)
      : swarm_(swarm), random_(random), capture_(capture) {}

  void set_tap(Tap tap) { tap_ = std::move(tap); }

  // The address of the machine of an endnode, and the port of its endpoint.
  [[nodiscard]] static Ipv4Address AddressOf(const Swarm& swarm, uint32_t node) {
    return Ipv4Address(0x0A000001 + (swarm.one_machine ? 0 : node));
  }
  [[nodiscard]] static uint16_t PortOf(uint32_t node) {
    return fabric::EndpointPorts{}.PortOf(fabric::EndpointId(static_cast<uint16_t>(node)));
  }
  // Of a multicast group.
  [[nodiscard]] static Ipv4Address GroupAt(uint32_t group) {
    return Ipv4Address(0xEF110401 + group);
  }
  // The origin of a packet between the two, as its receiver sees it.
  [[nodiscard]] static transport::PacketOrigin OriginOf(const Swarm& swarm, uint32_t from,
                                                        uint32_t to) {
    return {.source = IpAddress::FromIpv4(AddressOf(swarm, from)),
            .destination = IpAddress::FromIpv4(AddressOf(swarm, to)),
            .source_port = PortOf(from),
            .hop_limit = 64};
  }
  // Sets the right ICRC for the bytes.
  static void Seal(const Swarm& swarm, Event& event);

  // Packets that an endnode sends as one message; the link treats each. `group` as in Event.
  void Send(Time now, uint32_t from, uint32_t to, Ipv4Address group,
            std::span<const std::span<const std::byte>> segments);

  // Until then, nothing gets from one endnode to the other.
  void Cut(uint32_t from, uint32_t to, Time until) { cuts_[{from, to}] = until; }
  // Nothing reaches this queue pair any more, until its number is reused.
  void Sever(QpNumber qp) { severed_.insert(qp.value()); }
  void Restore(QpNumber qp) { severed_.erase(qp.value()); }
  // The process has died: its pages do not arrive any more.
  void ForgetJobs(uint32_t node);
  // From now on the network is good.
  void Heal();

  void Add(Time at, Event event);
  [[nodiscard]] Time next_time() const {
    return events_.empty() ? Time::Never() : events_.begin()->first.first;
  }
  // The next event due at `now`.
  [[nodiscard]] std::optional<Event> Take(Time now);

  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  void Corrupt(Event& arrival);
  void SendOne(Time now, const Event& event);
  void Capture(Time now, const Event& event);

  Swarm swarm_;
  Random random_;
  wire::PcapngWriter* capture_;
  Tap tap_;
  std::map<std::pair<Time, uint64_t>, Event> events_;
  std::map<std::pair<uint32_t, uint32_t>, Time> cuts_;
  std::set<uint32_t> severed_;
  uint64_t sequence_ = 0;
  Counters counters_;
};

}  // namespace verbena::sim
