#pragma once

namespace verbena::cli {

// After this call, Ctrl-C and SIGTERM do not end the program: long work checks Interrupted() and
// ends itself. System calls that wait return with EINTR. A second Ctrl-C ends the program at once.
void CatchInterrupts();

[[nodiscard]] bool Interrupted();

}  // namespace verbena::cli
