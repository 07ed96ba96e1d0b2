#pragma once

#include <cstdint>
#include <string_view>

namespace verbena {

enum class LogLevel : uint8_t { kError, kWarning, kInfo, kDebug };

// Writes "verbena: ..." to standard error, up to the level that VERBENA_LOG names: error, warning,
// info or debug. The default is warning. There is no banner.
//
// Allocates nothing, because it also reports that memory ran out.
void Log(LogLevel level, std::string_view text) noexcept;
// Writes "verbena: call: ...".
void Log(LogLevel level, std::string_view call, std::string_view text) noexcept;

// Warns if VERBENA_LOG is none of these levels.
void CheckLogVariable() noexcept;

// Writes at any level: for output that the user asked for otherwise, such as VERBENA_STATS.
void LogAlways(std::string_view text) noexcept;

// A warning that is written once per process. Without memory to remember the text, it is written
// again.
void LogOnce(std::string_view text) noexcept;
void LogOnce(std::string_view call, std::string_view text) noexcept;

}  // namespace verbena
