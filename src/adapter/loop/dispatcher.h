#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "adapter/cm/gsi.h"
#include "adapter/loop/flow_cache.h"
#include "adapter/loop/trace.h"
#include "adapter/objects/qp_table.h"
#include "adapter/objects/queue_pair.h"
#include "adapter/ready_list.h"
#include "fabric/datagram.h"
#include "fabric/machine_addresses.h"
#include "transport/common/step.h"
#include "transport/ud/multicast_groups.h"
#include "verbena/counters.h"

namespace verbena::adapter {

// The receive side: finds the queue pair of each datagram, delivers it, and queues the queue pair
// to run. A datagram without a queue pair is dropped and counted by reason.
//
//   parse -> queue pair -> ICRC -> service, partition, peer, source port -> OnPacket
//
// The queue pair is looked up before the ICRC is computed, because noise seldom names an existing
// one. Nothing changes before all checks have passed.
//
// Owned by the engine; under its lock. Everything it refers to outlives it.
class Dispatcher {
 public:
  // Called once, with the advice to use strict mode if the peer sends from other ports.
  using OnWarning = std::function<void(const std::string& warning)>;

  Dispatcher(const QpTable<QueuePair>& qps, const transport::MulticastGroups& groups,
             RunQueue<QueuePair>& run_queue, PortCounters& counters, OnWarning on_warning,
             Trace* trace = nullptr, Gsi* gsi = nullptr,
             const fabric::MachineAddresses* addresses = nullptr)
      : qps_(qps),
        groups_(groups),
        run_queue_(run_queue),
        counters_(counters),
        on_warning_(std::move(on_warning)),
        trace_(trace),
        gsi_(gsi),
        addresses_(addresses) {}

  // A datagram that the socket with this port received.
  void OnDatagram(const fabric::ReceivedDatagram& datagram, uint16_t port, transport::Step& step) {
    Dispatch(datagram, port, step);
  }
  // A packet from a queue pair of this process, without an ICRC.
  void OnLoopback(const fabric::ReceivedDatagram& datagram, transport::Step& step) {
    Dispatch(datagram, kUnsealed, step);
  }

 private:
  static constexpr uint16_t kUnsealed = 0;  // no port

  void Dispatch(fabric::ReceivedDatagram datagram, uint16_t port, transport::Step& step);
  void Multicast(const fabric::ReceivedDatagram& datagram, const wire::Packet& packet,
                 transport::Step& step);
  // Delivers a management datagram to the general services queue pair (QP1).
  void DeliverMad(fabric::ReceivedDatagram datagram, uint16_t port, const wire::Packet& packet,
                  transport::Step& step);
  // Finds the local address that a datagram was sent to, if the socket does not report it: the
  // address for which the ICRC is right.
  [[nodiscard]] bool FindDestination(fabric::ReceivedDatagram& datagram, uint16_t port,
                                     const wire::Packet& packet, Time now);
  void Deliver(QueuePair& qp, const fabric::ReceivedDatagram& datagram, const wire::Packet& packet,
               transport::Step& step);
  bool IcrcIsRight(const fabric::ReceivedDatagram& datagram, uint16_t port,
                   const wire::Packet& packet);
  void Refuse(Drop drop, const QueuePair& qp, const fabric::ReceivedDatagram& datagram);
  void Count(Drop drop) { ++counters_.dropped[static_cast<size_t>(drop)]; }

  const QpTable<QueuePair>& qps_;
  const transport::MulticastGroups& groups_;
  RunQueue<QueuePair>& run_queue_;
  PortCounters& counters_;
  const OnWarning on_warning_;
  Trace* const trace_;  // nullptr: none
  Gsi* const gsi_;      // nullptr: none
  const fabric::MachineAddresses* const addresses_;
  std::vector<IpAddress> local_addresses_;  // as of the last FindDestination
  Time next_look_at_addresses_{};
  FlowCache flows_;
};

}  // namespace verbena::adapter
