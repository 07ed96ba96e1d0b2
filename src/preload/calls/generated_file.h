#pragma once

namespace verbena::preload {

// A file whose text is made when it is opened, by the library that runs the device in this process:
// counters, which are the process's own, and addresses, which may have changed. Its descriptor, or
// -1 if the file on disk is to be opened: there is no such library, or not for this path or these
// flags. errno stays as it was.
[[nodiscard]] int OpenGenerated(const char* path, int flags);

}  // namespace verbena::preload
