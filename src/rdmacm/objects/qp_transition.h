#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "rdmacm/objects/id.h"
#include "verbena/error.h"

// The attributes that move the queue pair of an id from one state to the next.

namespace verbena::rdmacm {

struct QpTransition {
  ibv_qp_attr attributes = {};
  int mask = 0;  // IBV_QP_*
};

// For INIT, RTR and RTS. Fails if the connection has not progressed far enough.
[[nodiscard]] ErrorOr<QpTransition> ChangeTo(const Id& id, ibv_qp_state state);

// From RESET to the state in which rdma_create_qp leaves a queue pair: INIT, or RTS for datagrams.
[[nodiscard]] ErrorOr<void> Prepare(const Id& id, ibv_qp& qp);

// The limits of reads and atomics of a connection.
struct ReadLimits {
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
};

// From INIT through RTR to RTS. No effect if the id has no queue pair. Over iWARP only the rights
// of the peer are set: CmId::Accept and Establish move the queue pair.
[[nodiscard]] ErrorOr<void> MakeReady(const Id& id, const ReadLimits& limits);

// No effect if the id has no queue pair.
[[nodiscard]] ErrorOr<void> MoveToError(const Id& id);

}  // namespace verbena::rdmacm
