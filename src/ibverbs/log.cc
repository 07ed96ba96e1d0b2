#include "ibverbs/log.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <set>
#include <string>

#include "base/mutex.h"

namespace verbena::ibverbs {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"error", "warning", "info", "debug"};

LogLevel Wanted() {
  const char* value = std::getenv("VERBENA_LOG");
  for (size_t i = 0; value != nullptr && i < kNames.size(); ++i) {
    if (kNames[i] == value) return static_cast<LogLevel>(i);
  }
  return LogLevel::kWarning;
}

}  // namespace

void Log(LogLevel level, std::string_view text) {
  if (level <= Wanted()) LogAlways(text);
}

void LogAlways(std::string_view text) {
  std::string line = "verbena: ";
  line += text;
  if (!line.ends_with('\n')) line += '\n';
  // One call, so that lines of several threads and processes do not mix. There is nobody to tell
  // if it fails.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void LogOnce(std::string_view text) {
  // Of the process, as its standard error is; never destroyed, because programs may call us while
  // they end.
  static Mutex& mutex = *new Mutex;
  static auto& told = *new std::set<std::string, std::less<>>;
  {
    const MutexLock lock(mutex);
    if (!told.emplace(text).second) return;
  }
  Log(LogLevel::kWarning, text);
}

}  // namespace verbena::ibverbs
