#pragma once

#include <cstdint>

#include "memory/access.h"
#include "transport/common/outbox.h"
#include "verbena/qp_state.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// The attributes of an unreliable connection that its two halves use.
struct UcConfig {
  QpNumber local_qp = {};
  QpNumber remote_qp = {};
  wire::PKey p_key = wire::kDefaultPKey;
  PathId path = {};
  uint32_t path_mtu = 1024;   // 256, 512, 1024, 2048 or 4096
  memory::Accessor who = {};  // protection domain and QP, for the tables
  Access remote_rights = {};  // the operations that this QP accepts
  RegistrationMode registration = RegistrationMode::kDisabled;
};

}  // namespace verbena::transport
