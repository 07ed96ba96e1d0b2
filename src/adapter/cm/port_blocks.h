#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "adapter/cm/mad_mailbox.h"
#include "adapter/cm/name_lock.h"
#include "adapter/cm/port_names.h"
#include "adapter/cm/port_request.h"
#include "base/error.h"
#include "base/random.h"

namespace verbena::adapter {

// The ephemeral ports of this process. It has them in blocks of kBlockPorts, each of which is one
// lock and one mailbox: thousands of ports cost few descriptors. All binds to the ports of these
// blocks are here, those to a port that the program names, too.
//
// Owned by the PortRegistry; one thread at a time.
class PortBlocks {
 public:
  // Binds to one port by one process: all must allow reuse, or have addresses of their own.
  static constexpr size_t kBindsMax = 64;

  PortBlocks(const PortNames& names, MadMailboxes& mailboxes, Random& random)
      : names_(names), mailboxes_(mailboxes), random_(random) {}
  PortBlocks(const PortBlocks&) = delete;
  PortBlocks& operator=(const PortBlocks&) = delete;
  ~PortBlocks();

  // Any port that has no bind: of a block of this process, or else of another block, which it
  // takes. Ports are given in turn, from a random one on. EADDRNOTAVAIL when other processes have
  // all.
  [[nodiscard]] ErrorOr<uint16_t> BindAny(const PortRequest& request);

  // Whether the port is in a block of this process.
  [[nodiscard]] bool Has(const wire::IpCmService& service) const;
  // REQUIRES: Has(request.service()). EADDRINUSE if another bind conflicts.
  [[nodiscard]] ErrorOr<void> Bind(const PortRequest& request);
  // Takes reuse_address from a bind. EADDRINUSE if it is not the only one then.
  [[nodiscard]] ErrorOr<void> MakeExclusive(const PortRequest& request);
  // REQUIRES: the bind is there.
  void Release(const PortRequest& request);

 private:
  using Key = std::pair<wire::IpCmProtocol, uint16_t>;  // of a block: its first port
  struct Block {
    NameLock lock;
    std::array<std::vector<PortRequest>, kBlockPorts> binds{};
    uint16_t ports_free = kBlockPorts;
    uint16_t next = 0;  // where the search for a free port goes on
  };

  static Key KeyOf(const wire::IpCmService& service) {
    return {service.protocol, FirstOfBlock(service.port)};
  }
  [[nodiscard]] Block* FindFree(wire::IpCmProtocol protocol, uint16_t& first);
  [[nodiscard]] ErrorOr<uint16_t> TakeBlock(wire::IpCmProtocol protocol);
  [[nodiscard]] std::vector<PortRequest>& BindsOf(const wire::IpCmService& service);
  void ReleaseIfSpare(const Key& key);

  const PortNames& names_;
  MadMailboxes& mailboxes_;
  Random& random_;
  std::map<Key, Block> blocks_;  // kBlocks of each protocol at most
};

}  // namespace verbena::adapter
