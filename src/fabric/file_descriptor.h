#pragma once

#include "base/file_descriptor.h"

namespace verbena::fabric {

// The layers above use the type under this name, for sockets.
using verbena::FileDescriptor;

}  // namespace verbena::fabric
