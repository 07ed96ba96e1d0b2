#pragma once

namespace verbena::adapter {

// Whether a system call that a signal handler has interrupted is to be made again. The verbs wait
// in read(), which the system restarts by itself after a handler with SA_RESTART; poll() is never
// restarted. Which handler ran is not known, so this asks whether all of them have the flag.
[[nodiscard]] bool SignalsRestart();

}  // namespace verbena::adapter
