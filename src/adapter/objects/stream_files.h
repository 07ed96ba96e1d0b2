#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "adapter/objects/iwarp_socket.h"
#include "base/error.h"
#include "base/result.h"
#include "base/time.h"
#include "fabric/sctp/sctp_hub.h"
#include "fabric/tcp/ready_set.h"

namespace verbena::adapter {

// What carries the streams of an iWARP adapter.
enum class StreamWire : uint8_t { kTcp, kSctp };

// Opens the sockets of an iWARP adapter, and says which of them are ready.
//
// Owned by IwarpCm; under the engine's lock. Another thread may wait for fd().
class StreamFiles {
 public:
  [[nodiscard]] static ErrorOr<StreamFiles> Open(StreamWire wire);

  // Readable while a socket is ready.
  [[nodiscard]] int fd() const { return set_.fd(); }
  [[nodiscard]] ErrorOr<IwarpSocket> Bind(const CmAddress& address, bool own_family_only) const;

  // Watches a socket for `wanted` instead of `before`. To be called again when the inputs of a
  // socket were served. False if the system has no memory for it.
  [[nodiscard]] bool Watch(const IwarpSocket& socket, fabric::ReadyId id, fabric::Interest before,
                           fabric::Interest wanted) const;
  // Those that are ready now. Never waits.
  [[nodiscard]] std::span<const fabric::ReadyId> Look(fabric::ReadySet::Ready& room,
                                                      Time now) const;

  // Timers of SCTP.
  void OnTime(Time now) const {
    if (hub_ != nullptr && hub_->next_time() <= now) hub_->OnTime(now);
  }
  [[nodiscard]] Time next_time() const {
    return hub_ == nullptr ? Time::Never() : hub_->next_time();
  }
  // What was written is not acknowledged, and would be lost with the process. (Of TCP the system
  // takes care.)
  [[nodiscard]] bool has_unacknowledged() const {
    return hub_ != nullptr && hub_->has_unacknowledged();
  }
  [[nodiscard]] StreamWire wire() const {
    return hub_ == nullptr ? StreamWire::kTcp : StreamWire::kSctp;
  }

 private:
  explicit StreamFiles(fabric::ReadySet set) : set_(std::move(set)) {}

  // In set_ the hub has an id that no stream has.
  static constexpr fabric::ReadyId kHub{0};

  fabric::ReadySet set_;
  std::unique_ptr<fabric::SctpHub> hub_;  // nullptr: TCP
  std::unique_ptr<std::vector<std::byte>> scratch_;
};

}  // namespace verbena::adapter
