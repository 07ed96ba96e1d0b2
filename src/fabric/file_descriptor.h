#pragma once

#include "base/file_descriptor.h"

namespace verbena::fabric {

// Sockets are what the layers above know it from.
using verbena::FileDescriptor;

}  // namespace verbena::fabric
