#include "adapter/cm/name_lock.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "adapter/cm/abstract_name.h"

namespace verbena::adapter {
namespace {

constexpr std::array kModes = {LockMode::kExclusive, LockMode::kShared, LockMode::kIntentExclusive,
                               LockMode::kIntentShared};

// How long the loser of a race sleeps: a name is bound and released within 100 us.
constexpr uint64_t kDelayMinUs = 50, kDelayMaxUs = 500;

constexpr const char* SuffixOf(LockMode mode) {
  switch (mode) {
    case LockMode::kIntentShared:
      return "#is";
    case LockMode::kIntentExclusive:
      return "#ix";
    case LockMode::kShared:
      return "#s";
    case LockMode::kExclusive:
      return "";
  }
  UNREACHABLE();
}

constexpr int SlotsOf(LockMode mode) {
  return mode == LockMode::kExclusive ? 1 : NameLock::kSharersMax;
}

std::string SlotName(const std::string& name, LockMode mode, int slot) {
  if (mode == LockMode::kExclusive) return name;
  return name + SuffixOf(mode) + std::to_string(slot);
}

FileDescriptor NewSocket() {
  return FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// A socket for a name. Its datagrams carry the credentials of their senders from the start.
FileDescriptor NewMailbox() {
  FileDescriptor file = NewSocket();
  const int on = 1;
  if (file.is_open() && setsockopt(file.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    return {};
  }
  return file;
}

// Whether a socket has the name. Connecting has no effect on the other end, and fails with
// ECONNREFUSED if there is none; any other error comes from an existing socket.
bool IsBound(const FileDescriptor& probe, const std::string& name) {
  const AbstractName address(name);
  return connect(probe.get(), address.get(), address.size()) == 0 || errno != ECONNREFUSED;
}

// The mode of a holder that is incompatible with `mode`; nullopt if there is none.
std::optional<LockMode> FindConflict(const FileDescriptor& probe, const std::string& name,
                                     LockMode mode, const std::string& bound_name,
                                     const std::string& own_name) {
  for (const LockMode held : kModes) {
    if (AreCompatible(mode, held)) continue;
    for (int slot = 0; slot < SlotsOf(held); ++slot) {
      const std::string other = SlotName(name, held, slot);
      if (other != bound_name && other != own_name && IsBound(probe, other)) return held;
    }
  }
  return std::nullopt;
}

// Binds the first free slot, starting at a random one. False if all are taken (EADDRINUSE), or on
// another error.
bool BindSlot(const FileDescriptor& socket, const std::string& name, LockMode mode, Random& random,
              std::string& bound_name) {
  const int slots = SlotsOf(mode);
  const int first = static_cast<int>(random.Below(static_cast<uint64_t>(slots)));
  for (int i = 0; i < slots; ++i) {
    bound_name = SlotName(name, mode, (first + i) % slots);
    const AbstractName address(bound_name);
    if (bind(socket.get(), address.get(), address.size()) == 0) return true;
    if (errno != EADDRINUSE) return false;
  }
  return false;
}

Unexpected<LockFailure> SystemFailure(const char* what) {
  return Fail(LockFailure{.error = SystemError(what)});
}

}  // namespace

Result<NameLock, LockFailure> NameLock::Acquire(const std::string& name, LockMode mode,
                                                Random& random, int tries, const NameLock* own) {
  const FileDescriptor probe = NewSocket();
  if (!probe.is_open()) return SystemFailure("cannot open a Unix socket");
  const std::string own_name = own == nullptr ? std::string() : own->bound_name_;
  FileDescriptor bound;
  std::string bound_name;
  std::optional<LockMode> held;
  for (int i = 0; i < tries; ++i) {
    if (i > 0) usleep(static_cast<useconds_t>(random.Between(kDelayMinUs, kDelayMaxUs)));
    if (!bound.is_open()) {
      FileDescriptor socket = NewMailbox();
      if (!socket.is_open()) return SystemFailure("cannot open a Unix socket");
      held = mode;  // if all slots are taken
      if (!BindSlot(socket, name, mode, random, bound_name)) {
        if (errno != EADDRINUSE) return SystemFailure("cannot bind an abstract Unix socket");
        continue;
      }
      bound = std::move(socket);
    }
    held = FindConflict(probe, name, mode, bound_name, own_name);
    if (!held) return NameLock(std::move(bound), std::move(bound_name), mode);
    if (*held > mode) bound = {};
  }
  return Fail(LockFailure{.held = held});
}

}  // namespace verbena::adapter
