#include "adapter/loop/lock_holder.h"

#include <fcntl.h>
#include <sched.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "fabric/file_descriptor.h"
#include "memory/copy/signal_guard.h"

namespace verbena::adapter {
namespace {

// Whether the thread sleeps in a page fault: the kernel reports it as blocked, but not in a system
// call. A thread that is merely not running, or that valgrind holds up, must not be called back: it
// can be anywhere in the code.
bool SleepsInPageFault(pid_t thread) {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/syscall", thread);
  const fabric::FileDescriptor file(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> line;
  const ssize_t length = file.is_open() ? read(file.get(), line.data(), line.size()) : -1;
  if (length <= 0) return false;
  // A page fault is "-1 SP PC". Otherwise "running", or a system call's number and arguments.
  return std::string_view(line.data(), static_cast<size_t>(length)).starts_with("-1 ");
}

}  // namespace

// OnTaken for a hold that is seen for the first time: sets when to call the holder back.
bool LockHolder::BePatient(uint64_t hold, Time now) {
  const bool is_recent = now.nanoseconds() < recent_until_ns_.load(std::memory_order_relaxed);
  seen_hold_.store(hold, std::memory_order_relaxed);
  calls_.store(0, std::memory_order_relaxed);
  due_ns_.store((now + (is_recent ? kAgain : kPatience)).nanoseconds(), std::memory_order_relaxed);
  return is_recent;
}

void LockHolder::CallBack(uint64_t hold, Time now) {
  int64_t due = due_ns_.load(std::memory_order_relaxed);
  if (now.nanoseconds() < due ||
      !due_ns_.compare_exchange_strong(due, (now + kAgain).nanoseconds())) {
    return;  // not due yet, or another thread calls the holder back
  }
  callers_.fetch_add(1);
  const pid_t thread = thread_.load();
  if (thread != 0 && holds_.load(std::memory_order_relaxed) == hold && SleepsInPageFault(thread)) {
    memory::SignalGuard::Interrupt(thread);
    calls_.fetch_add(1, std::memory_order_relaxed);
    recent_until_ns_.store((now + kRecent).nanoseconds(), std::memory_order_relaxed);
  }
  callers_.fetch_sub(1);
}

// A signal that was sent in the meantime is delivered at the latest when the last sched_yield
// returns.
void LockHolder::WaitForCallers() {
  while (callers_.load() > 0) sched_yield();
  sched_yield();
}

}  // namespace verbena::adapter
