#pragma once

namespace verbena::cli {

// From then on Ctrl-C and SIGTERM do not end the program: work that lasts asks Interrupted() and
// ends in its own way. Calls that wait in the kernel return with EINTR. A second Ctrl-C ends the
// program at once.
void CatchInterrupts();

[[nodiscard]] bool Interrupted();

}  // namespace verbena::cli
