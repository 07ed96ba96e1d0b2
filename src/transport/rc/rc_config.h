#pragma once

#include <cstdint>

#include "base/time.h"
#include "memory/access.h"
#include "transport/common/outbox.h"
#include "transport/common/qp_state.h"
#include "verbena/qp_state.h"
#include "wire/roce/opcode.h"
#include "wire/roce/timer_codes.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// The attributes of a reliable connection that its two halves use. Some are known when the queue
// pair is created, more when it can receive, and all when it can send.
struct RcConfig {
  QpType type = QpType::kRc;  // or one end of an extended connection
  QpNumber local_qp = {};
  QpNumber remote_qp = {};
  wire::PKey p_key = wire::kDefaultPKey;
  PathId path = {};
  bool peer_is_here = false;  // on this machine
  uint32_t path_mtu = 1024;   // 256, 512, 1024, 2048 or 4096
  memory::Accessor who = {};  // protection domain and QP, for the tables

  // requester
  Duration ack_timeout = Duration::Max();  // Max: wait for ever (timeout code 0)
  uint8_t retry_count = 7;
  uint8_t rnr_retry = 7;  // 7: for ever
  uint8_t max_rd_atomic = 1;
  RegistrationMode registration = RegistrationMode::kDisabled;

  // responder
  wire::RnrTimer min_rnr_timer{};
  uint8_t max_dest_rd_atomic = 1;
  Access remote_rights = {};  // the operations that this QP accepts
  // The RNR timer for packets that meet absent pages, as long as no page-in time was measured.
  Duration page_service_estimate = Milliseconds(1);

  // Extended connections have different opcodes and one more header.
  [[nodiscard]] wire::Service service() const {
    return type == QpType::kRc ? wire::Service::kRc : wire::Service::kXrc;
  }
};

}  // namespace verbena::transport
