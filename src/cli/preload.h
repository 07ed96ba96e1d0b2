#pragma once

#include <filesystem>

namespace verbena::cli {

// Adds a library to those that are loaded before all others into a program that is about to start,
// unless it is among them. Its directory is in LD_LIBRARY_PATH if its path has a colon or a space.
void Preload(const std::filesystem::path& library);

}  // namespace verbena::cli
