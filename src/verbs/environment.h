#pragma once

namespace verbena::verbs {

// Does what the VERBENA_ variables ask of the library itself, for C++ programs and for those of the
// drop-in library: warns once of variables that nothing reads and of a VERBENA_LOG that is no level
// and, if VERBENA_STATS is 1, prints the counters of the process when the program ends. VERBENA_LOG
// is read with each line, VERBENA_TRACE by Context::Open.
//
// Any thread, any number of times.
void ApplyEnvironment();

}  // namespace verbena::verbs
