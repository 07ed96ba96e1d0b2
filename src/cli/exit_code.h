#pragma once

namespace verbena::cli {

// Exit codes besides EXIT_SUCCESS and EXIT_FAILURE, the same as a shell's.
constexpr int kMisuse = 2;           // the command line is wrong; nothing was done
constexpr int kNotExecutable = 126;  // a program that was to be run exists but cannot be executed
constexpr int kNotFound = 127;       // there is no such program

}  // namespace verbena::cli
