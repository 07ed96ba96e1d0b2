#pragma once

#include <cstdint>

#include "fabric/file_descriptor.h"

namespace verbena::fabric {

// A netlink socket on which the kernel reports changes of these RTMGRP groups. Closed if netlink is
// not permitted.
[[nodiscard]] FileDescriptor OpenNetlinkReports(uint32_t groups);

// Reads the messages, without waiting. True if there was one: then something may have changed, and
// the caller must query it.
[[nodiscard]] bool TakeNetlinkReports(int fd);

}  // namespace verbena::fabric
