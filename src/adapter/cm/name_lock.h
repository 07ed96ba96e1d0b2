#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/random.h"

namespace verbena::adapter {

// The modes of a two-level lock, as in databases: a lock on a part goes with an intent lock on the
// whole. A stronger mode has a greater value.
enum class LockMode : uint8_t { kIntentShared, kIntentExclusive, kShared, kExclusive };

// Whether two holders can have these modes of one lock at the same time.
[[nodiscard]] constexpr bool AreCompatible(LockMode a, LockMode b) {
  if (a == LockMode::kExclusive || b == LockMode::kExclusive) return false;
  const bool has_shared = a == LockMode::kShared || b == LockMode::kShared;
  const bool has_intent_exclusive =
      a == LockMode::kIntentExclusive || b == LockMode::kIntentExclusive;
  return !(has_shared && has_intent_exclusive);
}

// Why a lock was not acquired: a holder with mode `held`, or an error of the system.
struct LockFailure {
  std::optional<LockMode> held = {};
  Error error = {};
};

// A lock between all processes of a network namespace: a Unix socket with an abstract name. Only
// one socket can have a name, and the name is free when its process has ended in any way. Two locks
// of one process exclude each other like those of two processes.
//
// The exclusive lock `name` is the socket "name"; the other modes have kSharersMax sockets each,
// for example "name#ix0" to "name#ix63". A lock binds its own name first, and then checks for
// incompatible holders. So in a race at least one sees the other, and never do both succeed. If
// both see each other, the stronger mode waits and the weaker one releases its name, so one of them
// succeeds.
//
// A forked child has a copy of the socket: the lock is free when both have closed it.
class NameLock {
 public:
  static constexpr int kSharersMax = 64;  // per mode; an exclusive lock checks all
  // A holder may be about to release its name: a failed attempt is repeated after about 300 us.
  static constexpr int kTries = 4;

  // `own` is a lock of the caller on the same name that this one replaces: it does not conflict.
  [[nodiscard]] static Result<NameLock, LockFailure> Acquire(const std::string& name, LockMode mode,
                                                             Random& random, int tries = kTries,
                                                             const NameLock* own = nullptr);

  [[nodiscard]] LockMode mode() const { return mode_; }
  // Non-blocking. Receives datagrams that are sent to the name, with SCM_CREDENTIALS.
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  NameLock(FileDescriptor socket, std::string bound_name, LockMode mode)
      : socket_(std::move(socket)), bound_name_(std::move(bound_name)), mode_(mode) {}

  FileDescriptor socket_;
  std::string bound_name_;
  LockMode mode_;
};

}  // namespace verbena::adapter
