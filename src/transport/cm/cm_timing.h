#pragma once

#include <cstdint>

#include "base/time.h"
#include "transport/cm/cm_options.h"
#include "wire/mad/cm_req.h"

namespace verbena::transport {

// How long one side of a connection waits for the other: the timeouts of the REQ plus the
// round-trip time (IBA 12.9.8.1). A value type.
struct CmTiming {
  Duration answer{};    // until a message is retransmitted
  uint8_t retries = 0;  // number of retransmissions
  Duration patience{};  // how long the peer waits for us, including its retries
  Duration round_trip{};

  // For the side that sends the REQ, and for the one that receives it.
  [[nodiscard]] static CmTiming OfActive(const wire::CmReq& req, const CmOptions& options);
  [[nodiscard]] static CmTiming OfPassive(const wire::CmReq& req, const CmOptions& options);

  // After an MRA: the service timeout replaces the response time.
  [[nodiscard]] Duration AnswerAfter(wire::CmTimeout service) const {
    return wire::DurationOf(service) + round_trip;
  }
};

}  // namespace verbena::transport
