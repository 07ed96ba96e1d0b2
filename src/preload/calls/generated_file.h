#pragma once

namespace verbena::preload {

// Opens a file whose contents are generated when it is opened, by the library that runs the device
// in this process: counters, which belong to the process, and addresses, which can have changed.
// Returns its descriptor, or -1 if the caller must open the file on disk: no such library is
// loaded, or it does not generate this path, or not with these flags. Leaves errno unchanged.
[[nodiscard]] int OpenGenerated(const char* path, int flags);

}  // namespace verbena::preload
