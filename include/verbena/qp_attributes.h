#pragma once

#include <cstdint>
#include <optional>

#include "verbena/access.h"
#include "verbena/counters.h"
#include "verbena/gid.h"
#include "verbena/numbers.h"
#include "verbena/qp_state.h"

namespace verbena {

// What can be set of a queue pair: a modification changes those that have a value.
struct QpAttributes {
  std::optional<QpState> state = {};
  std::optional<QpState> current_state = {};  // REFUSED unless it is the one
  std::optional<bool> sqd_notify = {};        // an event when the send queue has drained
  std::optional<Access> access = {};          // of the peer, beyond which no key goes
  std::optional<uint16_t> p_key_index = {};
  std::optional<uint8_t> port = {};
  std::optional<QKey> q_key = {};
  std::optional<AddressVector> path = {};
  std::optional<PathMtu> path_mtu = {};
  std::optional<uint8_t> timeout = {};      // 4.096 us * 2^timeout; 0 for ever
  std::optional<uint8_t> retry_count = {};  // up to 7
  std::optional<uint8_t> rnr_retry = {};    // up to 6; 7 for ever
  std::optional<Psn> rq_psn = {};
  std::optional<uint8_t> max_rd_atomic = {};  // reads and atomics under way
  std::optional<uint8_t> min_rnr_timer = {};  // code of IBA table 45
  std::optional<Psn> sq_psn = {};
  std::optional<uint8_t> max_dest_rd_atomic = {};
  std::optional<QpNumber> remote_qp = {};

  // Attributes that are taken where the specification takes them, and have no effect.
  bool alternate_path = false;
  bool path_migration = false;
  bool capacity = false;
  bool rate_limit = false;
};

// What a queue pair is now. All attributes have a value, but for the path while there is none.
struct QpReport {
  QpState state = QpState::kReset;
  bool is_draining = false;  // kSqd, and what was begun before has not ended yet
  QpAttributes attributes = {};
  QpCounters counters = {};
};

}  // namespace verbena
