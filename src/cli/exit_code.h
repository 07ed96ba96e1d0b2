#pragma once

namespace verbena::cli {

// What the shell is told besides EXIT_SUCCESS and EXIT_FAILURE: the same as by its own commands.
constexpr int kMisuse = 2;           // the command line is wrong; nothing was done
constexpr int kNotExecutable = 126;  // a program that was to be run is there, and cannot be run
constexpr int kNotFound = 127;       // there is no such program

}  // namespace verbena::cli
