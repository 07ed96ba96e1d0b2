#pragma once

#include "wire/roce/bth.h"

namespace verbena::transport {

// A responder marks responses that it sends because pages of its memory are absent. The peer is not
// at fault, so they cost a requester of Verbena no retry. The mark is the AckReq bit of the BTH.
// IBA 9.2 defines that bit for requests only; other adapters send responses with 0 there, and
// ignore it in responses that they receive.
inline void MarkFault(wire::Bth& bth) { bth.ack_request = true; }

// REQUIRES: the packet is a response.
[[nodiscard]] inline bool IsMarkedFault(const wire::Bth& bth) { return bth.ack_request; }

}  // namespace verbena::transport
