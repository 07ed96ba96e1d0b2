#pragma once

namespace verbena::cli {

// Opens /dev/null, read-only, for each of the descriptors 0 to 2 that is closed; exec closes it
// again. Otherwise the next socket gets the number, and printed output goes to the socket.
void OpenStandardFiles();

// Whether all output is written; if not, prints why on standard error.
[[nodiscard]] bool FlushOutput();

}  // namespace verbena::cli
