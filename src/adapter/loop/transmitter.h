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

// The transmit side: takes packets from the outbox, copies each payload once into the buffer that
// the kernel reads, and appends the ICRC while the packet is in the cache. Packets to a queue pair
// of this process take the loopback.
//
// Owned by the engine; under its lock. Everything it refers to outlives it.
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

  // Whether this many packets of any size, all from one queue pair, fit before the next Flush, or
  // before the loopback is received.
  [[nodiscard]] bool HasRoomFor(size_t packets, QpNumber from) const {
    return endpoints_.Of(from).room(kDatagramMax) >= packets &&
           loopback_.room(kDatagramMax) >= packets;
  }

  // Copies the packet to the socket of its queue pair's endpoint, because peers check the source
  // port. If a page of the payload is not in memory, returns its address and sends nothing.
  // REQUIRES: there is room.
  [[nodiscard]] std::optional<memory::MachineAddress> Stage(const transport::OutPacket& packet);

  // Stages a management datagram to the general services queue pair of another process, from
  // `number`, which is ours. REQUIRES: there is room.
  void StageMad(const transport::CmDatagram& datagram, QpNumber number, Psn psn);

  // Refreshes what may have expired: the addresses of the machine, and losses of paths.
  void OnTime(Time now) {
    if (paths_.has_remote()) default_sources_.Refresh(now);
    segment_losses_.OnTime(now);
  }

  // The result of packets that left as segments of one message. If the path is now to get single
  // datagrams, for the first time: the warning for the user.
  [[nodiscard]] std::optional<std::string> OnSegments(const transport::SegmentReport& report,
                                                      Time now);
  [[nodiscard]] bool segments_in_doubt() const { return segment_losses_.in_doubt(); }
  // The machine's addresses have changed.
  void ClearPaths() { segment_losses_.Clear(); }

  // False if the send buffer is full.
  [[nodiscard]] bool Flush() { return endpoints_.Flush(); }

 private:
  // The longest packet: all headers, 4 KiB, pad and ICRC.
  static constexpr size_t kDatagramMax =
      transport::OutPacket::kHeaderMax + transport::OutPacket::kPayloadMax + 4;

  bool EndsHere(const Path& path, QpNumber to) const {
    return path.ends_here && endpoints_.Has(EndpointOf(to));
  }
  // Whether the packet must leave alone, because the path loses segments.
  bool IsSingle(const Path& path, const transport::OutPacket& packet) const;
  std::optional<memory::MachineAddress> StageOn(fabric::Fabric& by, const fabric::Route& route,
                                                bool is_local, const transport::OutPacket& packet);
  [[nodiscard]] uint32_t InterfaceOf(const IpAddress& address) const;
  // Sends a multicast datagram again to each endpoint other than 0 whose process may be a member,
  // on this machine or on the peer's.
  void StageCopies(fabric::Fabric& by, fabric::Route route, const transport::OutPacket& packet);
  void SealPacket(const wire::UdpFlow& flow, const fabric::Reservation& place);

  const EndpointSet& endpoints_;
  fabric::Loopback& loopback_;
  const PathTable& paths_;
  const PortMap ports_;
  PortCounters& counters_;
  const size_t outbox_packets_;  // room for this many is reserved
  Trace* const trace_;           // nullptr: none
  const fabric::MachineAddresses& addresses_;
  DefaultSourceAddresses default_sources_;
  transport::SegmentLosses segment_losses_;
  FlowCache flows_;
};

}  // namespace verbena::adapter
