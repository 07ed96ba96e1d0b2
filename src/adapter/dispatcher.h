#pragma once

#include <cstddef>
#include <cstdint>

#include "adapter/counters.h"
#include "adapter/flow_cache.h"
#include "adapter/qp_table.h"
#include "adapter/queue_pair.h"
#include "adapter/ready_list.h"
#include "adapter/trace.h"
#include "fabric/datagram.h"
#include "transport/turn.h"
#include "transport/ud/multicast_groups.h"

namespace verbena::adapter {

// The way in: finds whom a datagram is for, and drops what is for nobody, with a reason. Those that
// got one are queued to run.
//
//   parse -> queue pair -> ICRC -> service, partition, peer -> OnPacket
//
// The queue pair is looked for before the ICRC is computed: of a flood of noise little gets that
// far. Nothing changes before all checks have passed.
//
// Owned by the engine; under its lock. What it refers to outlives it.
class Dispatcher {
 public:
  Dispatcher(uint16_t port, const QpTable<QueuePair>& qps, const transport::MulticastGroups& groups,
             RunQueue<QueuePair>& run_queue, PortCounters& counters, Trace* trace = nullptr)
      : port_(port),
        qps_(qps),
        groups_(groups),
        run_queue_(run_queue),
        counters_(counters),
        trace_(trace) {}

  // From a socket.
  void OnDatagram(const fabric::Datagram& datagram, transport::Turn& turn) {
    Dispatch(datagram, true, turn);
  }
  // From a queue pair of this process, which sealed nothing.
  void OnLoopback(const fabric::Datagram& datagram, transport::Turn& turn) {
    Dispatch(datagram, false, turn);
  }

 private:
  void Dispatch(fabric::Datagram datagram, bool is_sealed, transport::Turn& turn);
  void Multicast(const fabric::Datagram& datagram, const wire::Packet& packet,
                 transport::Turn& turn);
  void Deliver(QueuePair& qp, const fabric::Datagram& datagram, const wire::Packet& packet,
               transport::Turn& turn);
  bool IcrcIsRight(const fabric::Datagram& datagram, const wire::Packet& packet);
  void Count(Drop drop) { ++counters_.dropped[static_cast<size_t>(drop)]; }

  const uint16_t port_;
  const QpTable<QueuePair>& qps_;
  const transport::MulticastGroups& groups_;
  RunQueue<QueuePair>& run_queue_;
  PortCounters& counters_;
  Trace* const trace_;  // nullptr: none
  FlowCache flows_;
};

}  // namespace verbena::adapter
