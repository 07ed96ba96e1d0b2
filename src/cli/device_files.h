#pragma once

#include <filesystem>

#include "verbena/error.h"

namespace verbena::cli {

// Prepares the environment for a program that is about to start, so that it finds the files that
// the kernel has for the devices it knows. The libibverbs.so.1 in `libraries`, which provides the
// device, writes the files; libverbena-files.so, beside it, redirects the program's path calls to
// them. An error says why the program has to run without them.
[[nodiscard]] ErrorOr<void> ShowDeviceFiles(const std::filesystem::path& libraries);

// Undoes ShowDeviceFiles of an outer `verbena run`.
void HideDeviceFiles();

}  // namespace verbena::cli
