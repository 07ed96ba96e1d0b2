#include "adapter/lock_holder.h"

#include <fcntl.h>
#include <sched.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "fabric/file_descriptor.h"
#include "memory/signal_guard.h"

namespace verbena::adapter {
namespace {

// Whether the system has put the thread to sleep. One that is only not running, because others are,
// must not be called back: it may be anywhere.
bool IsAsleep(pid_t thread) {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", thread);
  const fabric::FileDescriptor file(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> line;
  const ssize_t length = file.is_open() ? read(file.get(), line.data(), line.size()) : -1;
  if (length <= 0) return false;
  // "1234 (name) S ...", and the name may have any character in it.
  const std::string_view text(line.data(), static_cast<size_t>(length));
  const size_t end = text.rfind(") ");
  return end != std::string_view::npos && end + 2 < text.size() && text[end + 2] == 'S';
}

}  // namespace

void LockHolder::CallBack(uint64_t hold, Time now) {
  int64_t due = due_ns_.load(std::memory_order_relaxed);
  if (now.nanoseconds() < due ||
      !due_ns_.compare_exchange_strong(due, (now + kAgain).nanoseconds())) {
    return;  // another thread does
  }
  callers_.fetch_add(1);
  const pid_t thread = thread_.load();
  if (thread != 0 && holds_.load(std::memory_order_relaxed) == hold && IsAsleep(thread)) {
    memory::SignalGuard::Interrupt(thread);
  }
  callers_.fetch_sub(1);
}

// A signal that was sent meanwhile is delivered when the last of these calls returns.
void LockHolder::WaitForCallers() {
  while (callers_.load() > 0) sched_yield();
  sched_yield();
}

}  // namespace verbena::adapter
