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

// The ephemeral ports of this process, in blocks of kBlockPorts. Each block is one lock and one
// mailbox, so thousands of ports need few descriptors. All binds to ports of these blocks are
// recorded here, including those to a given port.
//
// Owned by the PortRegistry; one thread at a time.
class PortBlocks {
 public:
  // Binds of one process to one port: all must allow reuse, or have different addresses.
  static constexpr size_t kBindsMax = 64;

  PortBlocks(const PortNames& names, MadMailboxes& mailboxes, Random& random)
      : names_(names), mailboxes_(mailboxes), random_(random) {}
  PortBlocks(const PortBlocks&) = delete;
  PortBlocks& operator=(const PortBlocks&) = delete;
  ~PortBlocks();

  // Binds a free port of a block of this process, or of a new block. Ports are assigned
  // round-robin, starting at a random one. EADDRNOTAVAIL if other processes have all blocks.
  [[nodiscard]] ErrorOr<uint16_t> BindAny(const PortRequest& request);

  // Whether the port is in a block of this process.
  [[nodiscard]] bool Has(const wire::IpCmService& service) const;
  // REQUIRES: Has(request.service()). EADDRINUSE if another bind conflicts.
  [[nodiscard]] ErrorOr<void> Bind(const PortRequest& request);
  // Clears reuse_address of a bind. EADDRINUSE if other binds share the port.
  [[nodiscard]] ErrorOr<void> MakeExclusive(const PortRequest& request);
  // REQUIRES: the bind exists.
  void Release(const PortRequest& request);

 private:
  using Key = std::pair<wire::IpCmProtocol, uint16_t>;  // and the first port of a block
  struct Block {
    NameLock lock;
    std::array<std::vector<PortRequest>, kBlockPorts> binds{};
    uint16_t ports_free = kBlockPorts;
    uint16_t next = 0;  // where the search for a free port continues
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
  std::map<Key, Block> blocks_;  // at most kBlocks per protocol
};

}  // namespace verbena::adapter
