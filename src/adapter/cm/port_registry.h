#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "adapter/cm/mad_mailbox.h"
#include "adapter/cm/name_lock.h"
#include "adapter/cm/port_blocks.h"
#include "adapter/cm/port_claim.h"
#include "adapter/cm/port_names.h"
#include "adapter/cm/port_request.h"
#include "base/error.h"
#include "base/random.h"
#include "base/time.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

struct PortRegistryOptions {
  uint16_t base_port = wire::kRocePort;  // AdapterOptions::base_port
  uint64_t seed = 0;                     // for ephemeral ports and delays
};

// The port space of the connection manager. All processes of a network namespace share it, without
// a daemon: abstract Unix sockets are the locks on ports, and the mailboxes for management
// datagrams, which the process with the RoCEv2 port forwards to the processes that have the
// requested ports. See docs/connection-manager.md.
//
// One thread at a time: under the engine's lock. A forked child must not use it, because it would
// change the epoll set of its parent.
class PortRegistry {
 public:
  [[nodiscard]] static ErrorOr<std::unique_ptr<PortRegistry>> Open(
      const PortRegistryOptions& options);

  PortRegistry(const PortRegistry&) = delete;
  PortRegistry& operator=(const PortRegistry&) = delete;

  // EADDRINUSE if a bind of any process conflicts, after about 1 ms of retries in case of a race;
  // EADDRNOTAVAIL if no ephemeral port is left; EACCES if the port needs CAP_NET_BIND_SERVICE. Does
  // not check whether the address is one of this machine.
  [[nodiscard]] ErrorOr<PortClaim> Claim(const PortRequest& request);

  // See MadForwarder and MadMailboxes.
  [[nodiscard]] ForwardResult Forward(const ForwardedMad& mad) const {
    return forwarder_.Forward(mad);
  }
  [[nodiscard]] int fd() const { return mailboxes_.fd(); }
  void Receive(Time now, const MadMailboxes::Handler& handle) { mailboxes_.Receive(now, handle); }
  [[nodiscard]] const MailboxCounters& counters() const { return mailboxes_.counters(); }

 private:
  friend class PortClaim;

  PortRegistry(const PortRegistryOptions& options, MadMailboxes mailboxes, MadForwarder forwarder)
      : names_(options.base_port),
        random_(options.seed),
        mailboxes_(std::move(mailboxes)),
        forwarder_(std::move(forwarder)),
        blocks_(names_, mailboxes_, random_) {}

  [[nodiscard]] ErrorOr<void> MakeExclusive(PortClaim& claim);
  void Release(PortClaim& claim);
  [[nodiscard]] ErrorOr<void> AddMailboxes(const PortRequest& request,
                                           std::span<const NameLock> locks);
  void RemoveMailboxes(std::span<const NameLock> locks);

  const PortNames names_;
  Random random_;
  MadMailboxes mailboxes_;
  MadForwarder forwarder_;
  PortBlocks blocks_;
};

}  // namespace verbena::adapter
