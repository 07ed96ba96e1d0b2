#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/mutex.h"
#include "base/time.h"
#include "fabric/sctp/sctp_port.h"

namespace verbena::fabric {

// A path of a port, as usrsctp knows it: the "address" of AF_CONN. It is never dereferenced, and
// never leaves this machine.
using SctpLinkId = StrongId<struct SctpLinkIdTag, uint64_t>;

// The SCTP of this process: the library usrsctp, which has one state for all adapters of a process.
// It runs without threads of its own: packets go in by Input, and out by the ports, and time passes
// by OnTime, on the threads of the adapters.
//
// Every call of the library, and what it calls back, is under the mutex. It is never stopped.
class VERBENA_CAPABILITY("SctpStack") SctpStack {
 public:
  [[nodiscard]] static SctpStack& Get();
  SctpStack(const SctpStack&) = delete;
  SctpStack& operator=(const SctpStack&) = delete;

  void Lock() VERBENA_ACQUIRE() { mutex_.Lock(); }
  void Unlock() VERBENA_RELEASE() { mutex_.Unlock(); }
  // For what the library calls back, and what its callers call.
  void AssertHeld() const VERBENA_ASSERT_HELD(this) {}

  // The same path has the same id, also before it has a link: the cookies of the set-up hold it.
  [[nodiscard]] SctpLinkId IdOf(const SctpPort& port, const SctpPath& path) const
      VERBENA_REQUIRES(this);
  // Packets of an association go in and out by its link. False if there is one already.
  [[nodiscard]] bool AddLink(SctpLinkId id, std::shared_ptr<SctpPort> port, const SctpPath& path)
      VERBENA_REQUIRES(this);
  void RemoveLink(SctpLinkId id) VERBENA_REQUIRES(this);
  [[nodiscard]] const SctpPath* PathOf(SctpLinkId id) const VERBENA_REQUIRES(this);

  // A datagram has arrived. What is no SCTP packet for this port, or has a wrong checksum, is
  // dropped. A path that had no link has one during the call; on_new_link(id) says whether it
  // stays, because an association was accepted.
  template <class Fn>
  void Input(const std::shared_ptr<SctpPort>& port, uint16_t number, const SctpPath& path,
             std::span<std::byte> packet, Fn on_new_link) VERBENA_REQUIRES(this) {
    if (!IsForPort(packet, number)) return;
    const SctpLinkId id = IdOf(*port, path);
    const auto found = links_.find(id);
    if (found != links_.end()) {
      // Two paths with one id are as good as impossible.
      if (found->second.path.peer == path.peer && found->second.port == port) Process(id, packet);
      return;
    }
    if (!AddLink(id, port, path)) return;
    Process(id, packet);
    if (!on_new_link(id)) RemoveLink(id);
  }

  // The packet begins with a cookie that comes back: the state of an association begins with it.
  [[nodiscard]] static bool BeginsAssociation(std::span<const std::byte> packet);

  // Timers of the library that are due.
  void OnTime(Time now) VERBENA_REQUIRES(this);
  static constexpr Duration kTick = Milliseconds(10);

  [[nodiscard]] size_t links() const VERBENA_REQUIRES(this) { return links_.size(); }

 private:
  struct Link {
    std::shared_ptr<SctpPort> port;
    SctpPath path;
  };

  SctpStack();

  static bool IsForPort(std::span<const std::byte> packet, uint16_t number);
  void Process(SctpLinkId id, std::span<const std::byte> packet) VERBENA_REQUIRES(this);
  static int OnPacket(void* link, void* packet, size_t size, uint8_t tos, uint8_t set_df);

  Mutex mutex_;
  std::unordered_map<SctpLinkId, Link> links_ VERBENA_GUARDED_BY(this);
  uint64_t secrets_[2];
  std::optional<Time> last_tick_ VERBENA_GUARDED_BY(this);
};

// Holds the stack.
class VERBENA_SCOPED_CAPABILITY SctpLock {
 public:
  explicit SctpLock(SctpStack& stack) VERBENA_ACQUIRE(stack) : stack_(stack) { stack.Lock(); }
  ~SctpLock() VERBENA_RELEASE() { stack_.Unlock(); }
  SctpLock(const SctpLock&) = delete;
  SctpLock& operator=(const SctpLock&) = delete;

 private:
  SctpStack& stack_;
};

}  // namespace verbena::fabric
