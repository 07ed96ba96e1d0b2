#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "verbena/cm_event.h"

namespace verbena::adapter {

// What a listener serves: see verbena::CmListenOptions.
struct StreamsServed {
  bool rdma = true;
  bool iscsi = false;
  bool plain = false;
  Duration silence = Seconds(1);

  // REQUIRES: the kind is decided.
  [[nodiscard]] bool Has(StreamKind kind) const {
    return kind == StreamKind::kRdma ? rdma : kind == StreamKind::kIscsi ? iscsi : plain;
  }
  [[nodiscard]] bool is_plain_alone() const { return plain && !rdma && !iscsi; }

  friend bool operator==(const StreamsServed&, const StreamsServed&) = default;
};

// The streams of an iWARP adapter, and how they are set up (RFC 5044, RFC 6581).
struct IwarpOptions {
  // Options::mpa_revision and mpa_crc.
  uint8_t mpa_revision = 2;
  bool mpa_crc = true;
  bool mpa_markers = false;  // in what peers send: kernel TCP delivers in order, so they only cost

  // Bytes of a segment, with its headers. Larger than a TCP segment: the kernel cuts the stream
  // anyway, and each segment costs a look-up of its key.
  uint16_t ulpdu_max = 32'768;
  // Bytes of a stream that wait to be sent, and that wait for the rest of their frame or for pages.
  // Pages of these buffers that are never used are never there.
  size_t send_buffer = size_t{256} << 10;
  size_t receive_buffer = size_t{256} << 10;

  // Streams that have not sent their whole request yet. A further one ends the oldest.
  uint32_t handshakes_max = 256;
  // How long a peer may take for its request, and for the answer to one.
  Duration request_timeout = Seconds(5);
  Duration reply_timeout = Seconds(20);
  // How long a listener pauses when the process has no file descriptor for a connection.
  Duration accept_retry = Milliseconds(100);
  // How long this side, if it has accepted, waits for the first frame of a peer that does not say
  // when it is ready (RFC 5044, 7.1.2: for ever). The kernel's siw says it only if its
  // `peer_to_peer` is on.
  Duration first_frame_patience = Milliseconds(500);
  // How long this side, if it has connected, waits for an answer before it says again that it is
  // ready; four times as long each time, and ready_repeats times in all. The kernel's siw does not
  // notice frames that come between its reply and the moment when it expects them.
  Duration ready_patience = Milliseconds(50);
  uint8_t ready_repeats = 3;
  // How long a stream that this side has closed waits for the peer to close it, too.
  Duration close_timeout = Seconds(5);
};

}  // namespace verbena::adapter
