#pragma once

#include <cstdint>

#include "fabric/file_descriptor.h"

namespace verbena::fabric {

// A file that the kernel writes a message to when something of the network of these RTMGRP groups
// changes. Empty where netlink is not permitted.
[[nodiscard]] FileDescriptor OpenNetlinkReports(uint32_t groups);

// Takes the messages, without waiting. Returns whether there was one: it says that something may
// have changed, and what did is for the caller to ask.
[[nodiscard]] bool TakeNetlinkReports(int fd);

}  // namespace verbena::fabric
