#pragma once

#include <cstdint>
#include <optional>

#include "verbena/access.h"
#include "verbena/counters.h"
#include "verbena/gid.h"
#include "verbena/numbers.h"
#include "verbena/qp_state.h"

namespace verbena {

// The attributes of a queue pair that can be set. A modification changes those that have a value.
struct QpAttributes {
  std::optional<QpState> state = {};
  std::optional<QpState> current_state = {};  // REFUSED unless it is the present state
  std::optional<bool> sqd_notify = {};        // raise an event when the send queue has drained
  std::optional<Access> access = {};  // of the peer; further limited by the rights of each key
  std::optional<uint16_t> p_key_index = {};
  std::optional<uint8_t> port = {};
  std::optional<QKey> q_key = {};
  std::optional<AddressVector> path = {};
  std::optional<PathMtu> path_mtu = {};
  std::optional<uint8_t> timeout = {};      // 4.096 us * 2^timeout; 0: wait for ever
  std::optional<uint8_t> retry_count = {};  // up to 7
  std::optional<uint8_t> rnr_retry = {};    // up to 6; 7: unlimited
  std::optional<Psn> rq_psn = {};
  std::optional<uint8_t> max_rd_atomic = {};  // outstanding reads and atomics
  std::optional<uint8_t> min_rnr_timer = {};  // code of IBA table 45
  std::optional<Psn> sq_psn = {};
  std::optional<uint8_t> max_dest_rd_atomic = {};
  std::optional<QpNumber> remote_qp = {};

  // Accepted where the specification allows them; without effect.
  bool alternate_path = false;
  bool path_migration = false;
  bool capacity = false;
  bool rate_limit = false;
};

// The present attributes of a queue pair. All have a value, except the path while there is none.
struct QpReport {
  QpState state = QpState::kReset;
  bool is_draining = false;  // in kSqd, and requests that were started are not complete yet
  QpAttributes attributes = {};
  QpCounters counters = {};
};

}  // namespace verbena
