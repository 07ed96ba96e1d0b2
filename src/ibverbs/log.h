#pragma once

#include <cstdint>
#include <string_view>

namespace verbena::ibverbs {

enum class LogLevel : uint8_t { kError, kWarning, kInfo, kDebug };

// To standard error, as "verbena: ..."; VERBENA_LOG=error|warning|info|debug says how much of it,
// and it is warnings if it says nothing. Nothing is written before the first line.
//
// Allocates nothing, because that memory ran out is said here, too.
void Log(LogLevel level, std::string_view text) noexcept;
// As "verbena: call: ...".
void Log(LogLevel level, std::string_view call, std::string_view text) noexcept;

// Warns if VERBENA_LOG is none of these.
void CheckLogVariable() noexcept;

// What the user has asked for in another way.
void LogAlways(std::string_view text) noexcept;

// A warning of which the program hears once, however often it asks. Where there is no memory to
// remember that it was said, it is said again.
void LogOnce(std::string_view text) noexcept;
void LogOnce(std::string_view call, std::string_view text) noexcept;

}  // namespace verbena::ibverbs
