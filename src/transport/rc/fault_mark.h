#pragma once

#include "wire/roce/bth.h"

namespace verbena::transport {

// A NAK that a responder sends because pages of its memory are absent says so, to a requester of
// ours: it is no fault of the peer's, and costs none of its retries. The mark is the AckReq bit of
// the BTH. IBA 9.2 gives that bit a meaning in requests only; others send responses with 0 there,
// and do not look at it when they receive one.
inline void MarkFault(wire::Bth& bth) { bth.ack_request = true; }

// REQUIRES: the packet is a response.
[[nodiscard]] inline bool IsMarkedFault(const wire::Bth& bth) { return bth.ack_request; }

}  // namespace verbena::transport
