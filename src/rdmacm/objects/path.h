#pragma once

#include <infiniband/verbs.h>

#include "rdmacm/objects/id.h"
#include "verbena/cm_event.h"
#include "verbena/error.h"
#include "verbena/gid.h"

// The path between the two addresses of an id, in the forms that programs use.

namespace verbena::rdmacm {

// The addresses that the id shows to the program.
[[nodiscard]] CmAddress LocalOf(const Id& id);
[[nodiscard]] CmAddress RemoteOf(const Id& id);

// Shows the addresses to the program, as socket addresses and as GIDs.
void ShowLocal(Id& id, const CmAddress& local);
void ShowRemote(Id& id, const CmAddress& remote);

// The attributes of an address handle to `destination`, from the id's own address.
[[nodiscard]] ErrorOr<ibv_ah_attr> AddressTo(const Id& id, const IpAddress& destination);

// The largest path MTU, as far as the system knows it.
[[nodiscard]] PathMtu MtuOf(const Id& id);

// Shows one path record to the program, in place of earlier ones.
[[nodiscard]] ErrorOr<void> ShowPath(Id& id, PathMtu mtu);

}  // namespace verbena::rdmacm
