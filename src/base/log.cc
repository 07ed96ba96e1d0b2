#include "base/log.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <set>
#include <string>

#include "base/mutex.h"
#include "base/variables.h"

namespace verbena {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"error", "warning", "info", "debug"};

LogLevel Wanted() {
  const auto* const found = std::ranges::find(kNames, Variable("VERBENA_LOG"));
  return found != kNames.end() ? static_cast<LogLevel>(found - kNames.begin()) : LogLevel::kWarning;
}

iovec PieceOf(std::string_view text) {
  return {.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
}

void WriteLine(std::string_view call, std::string_view text) {
  const bool ends = text.ends_with('\n');
  const std::array pieces = {PieceOf("verbena: "), PieceOf(call), PieceOf(call.empty() ? "" : ": "),
                             PieceOf(text), PieceOf(ends ? "" : "\n")};
  // A single writev, so that lines of several threads and processes do not mix. If it fails, there
  // is nowhere to report that.
  [[maybe_unused]] const ssize_t written = writev(STDERR_FILENO, pieces.data(), pieces.size());
}

// Whether this message was not logged before in this process. The set is never destroyed, because
// static destructors of the program may still call the verbs.
bool IsNew(std::string_view call, std::string_view text) noexcept try {
  static Mutex& mutex = *new Mutex;
  static auto& logged = *new std::set<std::pair<std::string, std::string>>;
  const MutexLock lock(mutex);
  return logged.emplace(call, text).second;
} catch (const std::bad_alloc&) {
  return true;
}

}  // namespace

void Log(LogLevel level, std::string_view text) noexcept { Log(level, "", text); }

void Log(LogLevel level, std::string_view call, std::string_view text) noexcept {
  if (level <= Wanted()) WriteLine(call, text);
}

void CheckLogVariable() noexcept try {
  const std::string_view value = Variable("VERBENA_LOG");
  if (value.empty() || std::ranges::find(kNames, value) != kNames.end()) return;
  LogOnce("VERBENA_LOG must be error, warning, info or debug, not '" + std::string(value) + "'");
} catch (const std::bad_alloc&) {
  LogOnce("VERBENA_LOG must be error, warning, info or debug");
}

void LogAlways(std::string_view text) noexcept { WriteLine("", text); }

void LogOnce(std::string_view text) noexcept { LogOnce("", text); }

void LogOnce(std::string_view call, std::string_view text) noexcept {
  if (IsNew(call, text)) Log(LogLevel::kWarning, call, text);
}

}  // namespace verbena
