#pragma once

namespace verbena::adapter {

// Whether the caller should repeat a poll() that a signal handler has interrupted. Programs expect
// the behavior of read(), in which other libibverbs wait: the kernel restarts it after a handler
// with SA_RESTART. It never restarts poll(). Which handler ran is not known, so this returns
// whether all handlers of the process have the flag.
[[nodiscard]] bool SignalsRestart();

}  // namespace verbena::adapter
