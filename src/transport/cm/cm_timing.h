#pragma once

#include <cstdint>

#include "base/time.h"
#include "transport/cm/cm_options.h"
#include "wire/mad/cm_req.h"

namespace verbena::transport {

// How long one side of a connection waits for the other: what a REQ says, and the way there and
// back (IBA 12.9.8.1). A value type.
struct CmTiming {
  Duration answer{};    // until a message is sent again
  uint8_t retries = 0;  // so often
  Duration patience{};  // that the peer has with us, its retries included
  Duration round_trip{};

  // Of the side that sends the REQ, and of the one that receives it.
  [[nodiscard]] static CmTiming OfActive(const wire::CmReq& req, const CmOptions& options);
  [[nodiscard]] static CmTiming OfPassive(const wire::CmReq& req, const CmOptions& options);

  // After an MRA: its service timeout in place of the answer time.
  [[nodiscard]] Duration AnswerAfter(wire::CmTimeout service) const {
    return wire::DurationOf(service) + round_trip;
  }
};

}  // namespace verbena::transport
