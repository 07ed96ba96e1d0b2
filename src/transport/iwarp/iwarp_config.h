#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/access.h"
#include "transport/common/outbox.h"
#include "verbena/qp_state.h"
#include "wire/iwarp/mpa_fpdu.h"

namespace verbena::transport {

// How segments are marked off in the stream.
enum class StreamFraming : uint8_t {
  kMpa,  // FPDUs (RFC 5044)
  // The length and the segment alone: the layer below keeps messages apart, and checks them (SCTP,
  // RFC 5043). Positions in the stream count records instead of bytes.
  kRecords,
};

// What the two ends of a stream have agreed on when it was set up.
struct StreamConfig {
  StreamFraming framing = StreamFraming::kMpa;
  bool send_markers = false;
  bool receive_markers = false;
  bool crc = true;
  uint16_t ulpdu_max = 1442;  // bytes of a segment with its headers that this side sends
  // RFC 5044, 7.1.2: the responder of the set-up sends nothing before it has received a frame.
  bool waits_for_first = false;
  // RFC 6581: the first frame may be an empty one, by which the initiator says that it is ready.
  bool takes_empty_frame = false;
  // Bytes behind those that were delivered which may be placed early. Those beyond are dropped.
  uint32_t receive_window = 1U << 20;
};

// The smallest segment size with which every message that is one segment can be sent.
inline constexpr uint16_t kUlpduMin = 128;

// The attributes of an iWARP queue pair that its two halves use. Some are known when the queue pair
// is created, all when its stream is connected.
struct IwarpConfig {
  QpNumber local_qp = {};
  memory::Accessor who = {};  // protection domain and QP, for the tables
  RegistrationMode registration = RegistrationMode::kDisabled;
  uint8_t max_rd_atomic = 1;       // ORD: outstanding reads and atomics of this side
  uint8_t max_dest_rd_atomic = 1;  // IRD: those of the peer
  Access remote_rights = {};       // the operations that this QP accepts
  StreamConfig stream = {};
};

}  // namespace verbena::transport
