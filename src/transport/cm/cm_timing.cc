#include "transport/cm/cm_timing.h"

#include <algorithm>

namespace verbena::transport {
namespace {

// `peer_timeout`: how long the peer takes to respond; `own_timeout`: how long it waits for us.
CmTiming TimingOf(wire::CmTimeout peer_timeout, wire::CmTimeout own_timeout, uint8_t retries,
                  const CmOptions& options) {
  const Duration round_trip = 2 * options.packet_life;
  const int tries = retries + 1;
  // The peer chooses the codes, so the total time of all tries is bounded.
  const Duration longest = options.patience_max / tries;
  return {.answer = std::min(wire::DurationOf(peer_timeout) + round_trip, longest),
          .retries = retries,
          .patience = std::min(wire::DurationOf(own_timeout) + round_trip, longest) * tries,
          .round_trip = round_trip};
}

}  // namespace

CmTiming CmTiming::OfActive(const wire::CmReq& req, const CmOptions& options) {
  return TimingOf(req.remote_response_timeout, req.local_response_timeout, req.max_cm_retries,
                  options);
}

CmTiming CmTiming::OfPassive(const wire::CmReq& req, const CmOptions& options) {
  return TimingOf(req.local_response_timeout, req.remote_response_timeout, req.max_cm_retries,
                  options);
}

}  // namespace verbena::transport
