#pragma once

#include "base/time.h"

namespace verbena::adapter {

// Asks the scheduler to give the calling thread time slices of this length (0.1 to 100 ms) instead
// of the usual 3 ms or so. A thread with a shorter slice than the one that runs takes its place as
// soon as it wakes; otherwise it may have to wait for the end of that slice. Kernels before 6.12
// take no notice. An ordinary user may do this.
void AskForSlice(Duration slice);

}  // namespace verbena::adapter
