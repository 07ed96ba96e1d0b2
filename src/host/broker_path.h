#pragma once

#include <string>

namespace verbena::host {

// Where brokers and guests of this user meet if nothing else is said: in $XDG_RUNTIME_DIR, or
// /run/user/UID; root's in /run.
[[nodiscard]] std::string DefaultBrokerSocket();

}  // namespace verbena::host
