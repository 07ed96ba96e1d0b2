#pragma once

namespace verbena::verbs {

// Applies the VERBENA_ variables of the library itself, for C++ programs and for those on the
// drop-in library: warns once of unknown variables and of an invalid VERBENA_LOG and, if
// VERBENA_STATS is 1, prints the counters of the process when the program ends. VERBENA_LOG is read
// for each line, VERBENA_TRACE by Context::Open.
//
// Any thread, any number of times.
void ApplyEnvironment();

}  // namespace verbena::verbs
