#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/random.h"

namespace verbena::adapter {

// The modes of a lock with two levels, as databases have them: an intent on the whole goes with a
// lock on a part of it. A stronger mode has a greater value.
enum class LockMode : uint8_t { kIntentShared, kIntentExclusive, kShared, kExclusive };

// Whether two holders can have these modes of one lock at the same time.
[[nodiscard]] constexpr bool AreCompatible(LockMode a, LockMode b) {
  if (a == LockMode::kExclusive || b == LockMode::kExclusive) return false;
  const bool has_shared = a == LockMode::kShared || b == LockMode::kShared;
  const bool has_intent_exclusive =
      a == LockMode::kIntentExclusive || b == LockMode::kIntentExclusive;
  return !(has_shared && has_intent_exclusive);
}

// Why a lock was not acquired: a holder with `held`, or what the system said.
struct LockFailure {
  std::optional<LockMode> held = {};
  Error error = {};
};

// A lock between all processes of a network namespace: a Unix socket with an abstract name, which
// two sockets cannot have, and which is free again when the process has ended, however it ended.
// Two locks of one process exclude each other as those of two processes do.
//
// The exclusive lock `name` is the socket "name"; the other modes have kSharersMax sockets each,
// "name#ix0" to "name#ix63". A lock binds its own name first and then looks for those that it is
// not compatible with. So of two that race at least one sees the other, and never do both succeed.
// If both see each other, the stronger mode waits, and the weaker withdraws: one of them succeeds.
//
// A forked child has a copy of the socket: the lock is free when both have closed it.
class NameLock {
 public:
  static constexpr int kSharersMax = 64;  // of each mode; an exclusive lock looks for each
  // A holder may be about to withdraw: an attempt that fails is repeated after some 300 us.
  static constexpr int kTries = 4;

  // `own` is a lock of the caller on the same name that it gives up for this one: it is no
  // obstacle.
  [[nodiscard]] static Result<NameLock, LockFailure> Acquire(const std::string& name, LockMode mode,
                                                             Random& random, int tries = kTries,
                                                             const NameLock* own = nullptr);

  [[nodiscard]] LockMode mode() const { return mode_; }
  // Never blocks. Datagrams that are sent to the name arrive here, with SCM_CREDENTIALS.
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  NameLock(FileDescriptor socket, std::string bound_name, LockMode mode)
      : socket_(std::move(socket)), bound_name_(std::move(bound_name)), mode_(mode) {}

  FileDescriptor socket_;
  std::string bound_name_;
  LockMode mode_;
};

}  // namespace verbena::adapter
