#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "rdmacm/objects/id.h"
#include "verbena/cm_event.h"
#include "verbena/error.h"

// The connection parameters of a program, and how they are sent.

namespace verbena::rdmacm {

// The room for private data in each message of the connection manager. The first two begin with the
// addresses of both ends (IBA A11).
inline constexpr size_t kRequestDataMax = 56;
inline constexpr size_t kSidrRequestDataMax = 180;
inline constexpr size_t kReplyDataMax = 196;
inline constexpr size_t kSidrReplyDataMax = 136;
inline constexpr size_t kRejectDataMax = 148;

// Fails with kInvalid if `bytes` is longer than `max`.
[[nodiscard]] ErrorOr<CmPrivateData> PrivateData(std::span<const std::byte> bytes, size_t max);
[[nodiscard]] std::span<const std::byte> BytesOf(const void* data, uint8_t size);

// Fails if the read limits exceed those of the device, or if there is neither a queue pair nor a
// queue pair number.
[[nodiscard]] ErrorOr<void> CheckParameters(const Id& id, const rdma_conn_param* given);

// The limit that a parameter stands for: RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH stand for `max`.
[[nodiscard]] constexpr uint8_t Limit(uint8_t wanted, uint8_t max) {
  return wanted == RDMA_MAX_RESP_RES ? max : wanted;
}

// The queue pair, the limits of reads, and the retries; without private data. `given` may be null.
[[nodiscard]] ConnectionParameters ParametersOf(const Id& id, const rdma_conn_param* given);

// The vendor's options of the peer, as programs see them.
[[nodiscard]] inline ibv_ece EceOf(const ConnectionParameters& peer) {
  return {.vendor_id = peer.vendor_options.vendor_id,
          .options = peer.vendor_options.options,
          .comp_mask = 0};
}

}  // namespace verbena::rdmacm
