#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "rdmacm/rsocket/errno.h"
#include "rdmacm/rsocket/limits.h"
#include "rdmacm/rsocket/socket.h"

namespace verbena::rsockets {

// The sockets of the process, by descriptor. Find returns a reference, so that rclose in another
// thread does not destroy a socket during a call.
//
// Any thread.
class SocketTable {
 public:
  // Returns the descriptor. EMFILE if its number is too large.
  [[nodiscard]] ErrnoOr<int> Insert(std::shared_ptr<Socket> socket) VERBENA_EXCLUDES(lock_) {
    const auto index = static_cast<std::size_t>(socket->descriptor());
    if (index >= kDescriptorsMax) return Fail(Errno{EMFILE});
    const MutexLock lock(lock_);
    if (index >= sockets_.size()) sockets_.resize(index + 1);
    sockets_[index] = std::move(socket);
    return static_cast<int>(index);
  }

  // Null if the descriptor is not an rsocket.
  [[nodiscard]] std::shared_ptr<Socket> Find(int descriptor) const VERBENA_EXCLUDES(lock_) {
    const MutexLock lock(lock_);
    return Has(descriptor) ? sockets_[static_cast<std::size_t>(descriptor)] : nullptr;
  }

  // Removes and returns it; null if the descriptor is not an rsocket.
  [[nodiscard]] std::shared_ptr<Socket> Remove(int descriptor) VERBENA_EXCLUDES(lock_) {
    const MutexLock lock(lock_);
    if (!Has(descriptor)) return nullptr;
    return std::move(sockets_[static_cast<std::size_t>(descriptor)]);
  }

 private:
  [[nodiscard]] bool Has(int descriptor) const VERBENA_REQUIRES(lock_) {
    return descriptor >= 0 && static_cast<std::size_t>(descriptor) < sockets_.size();
  }

  mutable Mutex lock_;
  std::vector<std::shared_ptr<Socket>> sockets_ VERBENA_GUARDED_BY(lock_);
};

}  // namespace verbena::rsockets
