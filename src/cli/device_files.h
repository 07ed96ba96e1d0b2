#pragma once

#include <filesystem>

#include "verbena/error.h"

namespace verbena::cli {

// Prepares the environment of a program that is about to be started, so that it finds the files
// that the kernel has about devices that it knows. They are written by the libibverbs.so.1 in
// `libraries`, which shows the device; libverbena-files.so, beside it, leads the program's path
// calls there. An error says why the program has to do without.
[[nodiscard]] ErrorOr<void> ShowDeviceFiles(const std::filesystem::path& libraries);

// The opposite, where an outer `verbena run` showed them.
void HideDeviceFiles();

}  // namespace verbena::cli
