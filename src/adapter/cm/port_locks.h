#pragma once

#include <span>
#include <string>
#include <vector>

#include "adapter/cm/name_lock.h"
#include "adapter/cm/port_names.h"
#include "adapter/cm/port_request.h"
#include "base/error.h"
#include "base/random.h"

namespace verbena::adapter {

// EADDRINUSE: "tcp port 7471 of 10.0.0.1 is in use by a bind to all IPv4 addresses".
[[nodiscard]] Error PortInUse(const PortRequest& request, const std::string& by);

// The locks of a bind to a port, chosen so that two binds exclude each other exactly if
// AreInConflict is true:
//
//   bind                      block of the port,   each family      the address
//                             if ephemeral         that it covers
//   one address               IX                   IX               X
//   one address, reuse        IX                   IS               S
//   wildcard                  IX                   X
//   wildcard, reuse           IX                   S
//
// (A process that has a block has X on it.) Exclusive locks on families and addresses are the
// mailboxes. `own` are the locks of the same bind in another mode, which these replace.
[[nodiscard]] ErrorOr<std::vector<NameLock>> LockPort(const PortNames& names,
                                                      const PortRequest& request, Random& random,
                                                      std::span<const NameLock> own = {});

}  // namespace verbena::adapter
