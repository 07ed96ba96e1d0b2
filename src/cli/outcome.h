#pragma once

#include <cstdlib>
#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "verbena/error.h"

namespace verbena::cli {

// Exit codes besides EXIT_SUCCESS and EXIT_FAILURE, the same as a shell's.
constexpr int kMisuse = 2;           // the command line is wrong; nothing was done
constexpr int kNotExecutable = 126;  // a program that was to be run exists but cannot be executed
constexpr int kNotFound = 127;       // there is no such program

// Why a subcommand failed, and the exit code. Converts from an error of the API.
struct Failure {
  // NOLINTNEXTLINE(google-explicit-constructor): errors of the API are handed on as they are
  Failure(Error error, int code = EXIT_FAILURE) : text(std::move(error.text)), exit_code(code) {}

  std::string text;
  int exit_code;
};

// The result of a subcommand, which prints its own output.
using Outcome = tl::expected<void, Failure>;

[[nodiscard]] inline Outcome ToOutcome(ErrorOr<void> done) {
  return done ? Outcome() : tl::unexpected(Failure(std::move(done.error())));
}

// The error for option values that contradict each other.
[[nodiscard]] inline Outcome Misuse(std::string text) {
  return tl::unexpected(Failure(Error{.text = std::move(text)}, kMisuse));
}

}  // namespace verbena::cli
