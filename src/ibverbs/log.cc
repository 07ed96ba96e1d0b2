#include "ibverbs/log.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <new>
#include <set>
#include <string>

#include "base/mutex.h"

namespace verbena::ibverbs {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"error", "warning", "info", "debug"};

LogLevel Wanted() {
  const char* value = secure_getenv("VERBENA_LOG");
  for (size_t i = 0; value != nullptr && i < kNames.size(); ++i) {
    if (kNames[i] == value) return static_cast<LogLevel>(i);
  }
  return LogLevel::kWarning;
}

iovec PieceOf(std::string_view text) {
  return {.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
}

void WriteLine(std::string_view call, std::string_view text) {
  const bool ends = text.ends_with('\n');
  const std::array pieces = {PieceOf("verbena: "), PieceOf(call), PieceOf(call.empty() ? "" : ": "),
                             PieceOf(text), PieceOf(ends ? "" : "\n")};
  // One call, so that lines of several threads and processes do not mix. There is no place to
  // report if it fails.
  [[maybe_unused]] const ssize_t written = writev(STDERR_FILENO, pieces.data(), pieces.size());
}

// Whether this is the first time. Of the process, as its standard error is; never destroyed,
// because programs may call us while they end.
bool IsNew(std::string_view call, std::string_view text) noexcept try {
  static Mutex& mutex = *new Mutex;
  static auto& told = *new std::set<std::pair<std::string, std::string>>;
  const MutexLock lock(mutex);
  return told.emplace(call, text).second;
} catch (const std::bad_alloc&) {
  return true;
}

}  // namespace

void Log(LogLevel level, std::string_view text) noexcept { Log(level, "", text); }

void Log(LogLevel level, std::string_view call, std::string_view text) noexcept {
  if (level <= Wanted()) WriteLine(call, text);
}

void LogAlways(std::string_view text) noexcept { WriteLine("", text); }

void LogOnce(std::string_view text) noexcept { LogOnce("", text); }

void LogOnce(std::string_view call, std::string_view text) noexcept {
  if (IsNew(call, text)) Log(LogLevel::kWarning, call, text);
}

}  // namespace verbena::ibverbs
