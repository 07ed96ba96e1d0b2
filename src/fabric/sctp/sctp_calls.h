#pragma once

#include "fabric/sctp/sctp_association.h"

namespace verbena::fabric {

// The calls of usrsctp that need a few lines. All under the stack's mutex.

// A socket with the options of this project, bound to a port number. nullptr, with errno set, if
// there is none.
[[nodiscard]] UsrSocket* OpenSocket(const SctpHub::Association& association, uint16_t port);
// The library reports its events to the hub.
void ReportEvents(SctpHub::Association& association);
// Ends an association at once, and frees the socket.
void Abort(UsrSocket* socket);
// The path of a socket that connects, or was accepted: its packets have the size that the path
// takes.
void AdoptPath(SctpHub::Association& association);
// The library has a size of packets for all associations that a listener begins from now on.
void PrepareFor(SctpHub::Association& listener, const SctpPath& path);

// It has an input that it is watched for.
[[nodiscard]] bool HasWanted(const SctpHub::Association& association);
// The association is set up, or is being set up or shut down.
[[nodiscard]] bool IsAlive(const SctpHub::Association& association);
[[nodiscard]] bool IsEstablished(const SctpHub::Association& association);
// Messages are sent and not acknowledged.
[[nodiscard]] bool HasUnacknowledged(const SctpHub::Association& association);

}  // namespace verbena::fabric
