#pragma once

#include <filesystem>

#include "verbena/error.h"

namespace verbena::cli {

// Prepares the environment for a program that is about to start, so that its TCP and UDP sockets
// are rsockets: by rdma-core's librspreload.so, and libverbena-sockets.so in `libraries` for what
// that one lacks. An error says what is missing.
[[nodiscard]] ErrorOr<void> UseRsockets(const std::filesystem::path& libraries);

}  // namespace verbena::cli
