#pragma once

#include "base/time.h"

namespace verbena::adapter {

// Asks the scheduler to give the calling thread time slices of this length (0.1 to 100 ms) instead
// of the usual 3 ms or so. A thread that wakes up preempts the running thread if its own slice is
// shorter; otherwise it may have to wait for the end of the running thread's slice. Kernels before
// 6.12 ignore this. An ordinary user may do it.
void AskForSlice(Duration slice);

}  // namespace verbena::adapter
