#pragma once

#include <cstdint>
#include <string_view>

namespace verbena::ibverbs {

enum class LogLevel : uint8_t { kError, kWarning, kInfo, kDebug };

// To standard error, as "verbena: ..."; VERBENA_LOG=error|warning|info|debug says how much of it,
// and it is warnings if it says nothing. Nothing is written before somebody logs.
void Log(LogLevel level, std::string_view text);

// What the user has asked for in another way.
void LogAlways(std::string_view text);

// A warning of which the program hears once, however often it asks.
void LogOnce(std::string_view text);

}  // namespace verbena::ibverbs
