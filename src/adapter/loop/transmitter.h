#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "adapter/loop/default_source_addresses.h"
#include "adapter/loop/endpoint_set.h"
#include "adapter/loop/flow_cache.h"
#include "adapter/loop/trace.h"
#include "adapter/objects/path_table.h"
#include "fabric/fabric.h"
#include "fabric/loopback.h"
#include "memory/address.h"
#include "transport/cm/cm_step.h"
#include "transport/common/outbox.h"
#include "transport/common/segment_losses.h"
#include "verbena/counters.h"

namespace verbena::adapter {

// The way out: takes the packets that machines named, copies each payload once to where the system
// will read it, and seals it with the ICRC while it is in the cache. What goes to a queue pair of
// this process takes a short cut.
//
// Owned by the engine; under its lock. What it refers to outlives it.
class Transmitter {
 public:
  Transmitter(const EndpointSet& endpoints, fabric::Loopback& loopback, const PathTable& paths,
              const PortMap& ports, PortCounters& counters, size_t outbox_packets,
              const fabric::MachineAddresses& addresses, Trace* trace = nullptr)
      : endpoints_(endpoints),
        loopback_(loopback),
        paths_(paths),
        ports_(ports),
        counters_(counters),
        outbox_packets_(outbox_packets),
        trace_(trace),
        addresses_(addresses),
        default_sources_(addresses) {}

  // Whether so many packets of any size, all of this queue pair, fit before the next Flush, or
  // Receive of the loopback.
  [[nodiscard]] bool HasRoomFor(size_t packets, QpNumber from) const {
    return endpoints_.Of(from).room(kDatagramMax) >= packets &&
           loopback_.room(kDatagramMax) >= packets;
  }

  // Copies the packet to where it leaves from: the socket of its queue pair's endpoint, because
  // peers check the port. If a byte of its payload is gone: which; then
  // nothing is sent. REQUIRES: there is room.
  [[nodiscard]] std::optional<memory::MachineAddress> Stage(const transport::OutPacket& packet);

  // A management datagram to the general services queue pair of another process, from `number`,
  // which is ours. REQUIRES: there is room.
  void StageMad(const transport::CmDatagram& datagram, QpNumber number, Psn psn);

  // What is known of the machine's addresses may be too old, and what of its paths.
  void OnTime(Time now) {
    if (paths_.has_remote()) default_sources_.Refresh(now);
    segment_losses_.OnTime(now);
  }

  // What became of packets that left together. Where it makes the path one that is sent single
  // datagrams, for the first time: what to tell the user.
  [[nodiscard]] std::optional<std::string> OnSegments(const transport::SegmentReport& report,
                                                      Time now);
  [[nodiscard]] bool segments_in_doubt() const { return segment_losses_.in_doubt(); }
  // The machine's addresses have changed.
  void ClearPaths() { segment_losses_.Clear(); }

  // False when the system takes no more now.
  [[nodiscard]] bool Flush() { return endpoints_.Flush(); }

 private:
  // The longest packet: all headers, 4 KiB, pad and ICRC.
  static constexpr size_t kDatagramMax =
      transport::OutPacket::kHeaderMax + transport::OutPacket::kPayloadMax + 4;

  bool EndsHere(const Path& path, QpNumber to) const {
    return path.ends_here && endpoints_.Has(EndpointOf(to));
  }
  // The path loses what leaves together.
  bool IsSingle(const Path& path, const transport::OutPacket& packet) const;
  std::optional<memory::MachineAddress> StageOn(fabric::Fabric& by, const fabric::Route& route,
                                                bool is_local, const transport::OutPacket& packet);
  [[nodiscard]] uint32_t InterfaceOf(const IpAddress& address) const;
  // A datagram to a group goes to endpoint 0, and again to each other one whose process may be in
  // it, here or there.
  void StageCopies(fabric::Fabric& by, fabric::Route route, const transport::OutPacket& packet);
  void SealPacket(const wire::UdpFlow& flow, const fabric::Reservation& place);

  const EndpointSet& endpoints_;
  fabric::Loopback& loopback_;
  const PathTable& paths_;
  const PortMap ports_;
  PortCounters& counters_;
  const size_t outbox_packets_;  // that must find room at any time
  Trace* const trace_;           // nullptr: none
  const fabric::MachineAddresses& addresses_;
  DefaultSourceAddresses default_sources_;
  transport::SegmentLosses segment_losses_;
  FlowCache flows_;
};

}  // namespace verbena::adapter
