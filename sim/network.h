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

// What happens to an endnode at a moment: a packet arrives, or pages do.
struct Event {
  uint32_t to = 0;
  uint32_t from = 0;
  std::vector<std::byte> packet = {};    // arrives, or...
  std::optional<odp::PageJob> job = {};  // ...is done
  uint8_t segment = 0;                   // of the message that the packet left in
  bool is_forged = false;                // without knowledge of where the sequence stands
  bool is_corrupted = false;             // on its way
  Ipv4Address group = {};                // it was sent to; 0: to the endnode itself
};

// The links between all endnodes, and the order of events: by their times, and at one time as they
// were added. One thread.
class Network {
 public:
  struct Counters {
    uint64_t packets = 0;
    uint64_t digest = 0;         // of every packet
    uint64_t segments_lost = 0;  // packets, because they left together
  };
  // Sees every packet that is sent.
  using Tap = std::function<void(uint32_t from, uint32_t to, std::span<const std::byte> packet)>;

  Network(const Swarm& swarm, Random random, wire::PcapngWriter* capture)
      : swarm_(swarm), random_(random), capture_(capture) {}

  void set_tap(Tap tap) { tap_ = std::move(tap); }

  // Of an endnode: its machine's, and the port of its endpoint there.
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
  // What a packet between the two looks like to its receiver.
  [[nodiscard]] static transport::PacketOrigin OriginOf(const Swarm& swarm, uint32_t from,
                                                        uint32_t to) {
    return {.source = IpAddress::FromIpv4(AddressOf(swarm, from)),
            .destination = IpAddress::FromIpv4(AddressOf(swarm, to)),
            .source_port = PortOf(from),
            .hop_limit = 64};
  }
  // Whatever the bytes say, the ICRC is right afterwards.
  static void Seal(const Swarm& swarm, Event& event);

  // Packets that an endnode sends as one message, with what a link may do to each. `group` as in
  // Event.
  void Send(Time now, uint32_t from, uint32_t to, Ipv4Address group,
            std::span<const std::span<const std::byte>> segments);

  // Nothing goes from one endnode to another until then.
  void Cut(uint32_t from, uint32_t to, Time until) { cuts_[{from, to}] = until; }
  // Nothing reaches this queue pair any more, until another one has its number.
  void Sever(QpNumber qp) { severed_.insert(qp.value()); }
  void Restore(QpNumber qp) { severed_.erase(qp.value()); }
  // The process has died: its pages do not come any more.
  void ForgetJobs(uint32_t node);
  // From now on nothing goes wrong that has not.
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
