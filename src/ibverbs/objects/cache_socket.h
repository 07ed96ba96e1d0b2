#pragma once

namespace verbena::ibverbs {

// Starts a thread that answers `verbena cache`: a process of the same user, or of root, that
// connects to the abstract Unix socket verbena-cache-<process> reads the counters and the tables of
// the caches. The socket goes with the process. Once per process; without memory or a thread, it is
// left out.
void ServeCacheReports() noexcept;

}  // namespace verbena::ibverbs
