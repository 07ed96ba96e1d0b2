#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cli/hello.h"
#include "verbena/verbena.h"

namespace verbena::cli {

// Set in the ids of all receive requests, and in no others.
inline constexpr uint64_t kReceiveFlag = uint64_t{1} << 63;

struct EndpointSpec {
  QpType type = QpType::kRc;
  uint32_t qps = 1;
  uint64_t bytes = 4'096;   // size of the memory
  uint32_t depth = 128;     // outstanding send requests on a queue pair
  uint32_t receives = 128;  // outstanding receive requests
  // Settings other than the arguments of Connect. 268 ms timeout: on a busy machine the peer can
  // wait for a processor, and a queue pair for 1,000 others.
  ConnectSettings connect = {.timeout = 16};
};

// The Q_Key of all datagram queue pairs, and the size of the GRH in front of each received
// datagram.
inline constexpr QKey kQKey{0x5EED};
inline constexpr uint32_t kGrhBytes = 40;

// One end of a number of connections: a context with one object of each kind, memory that the peer
// can access, and queue pairs that share a completion queue. Owned by the caller that runs it, and
// used by one thread.
class Endpoint {
 public:
  [[nodiscard]] static ErrorOr<std::unique_ptr<Endpoint>> Open(const EndpointSpec& spec);

  // The message to the peer, which reaches this end at `gid`.
  [[nodiscard]] Hello SayHello(const Gid& gid) const;
  // Connects each queue pair with the peer's at the same index. Before, queue pairs take receive
  // requests and no packets, and datagrams have no destination.
  [[nodiscard]] ErrorOr<void> Connect(const Gid& gid, const Hello& peer, PathMtu mtu,
                                      uint32_t interface = 0);

  // The destination of a datagram queue pair; nullopt for other types.
  [[nodiscard]] std::optional<Datagram> to(QpNumber qp) const;
  [[nodiscard]] uint32_t header_bytes() const { return spec_.type == QpType::kUd ? kGrhBytes : 0; }

  [[nodiscard]] const Context& context() const { return context_; }
  [[nodiscard]] const ProtectionDomain& domain() const { return domain_; }
  [[nodiscard]] const CompletionQueue& cq() const { return cq_; }
  [[nodiscard]] const MemoryRegion& region() const { return region_; }
  [[nodiscard]] std::span<std::byte> memory() { return memory_; }
  [[nodiscard]] std::vector<QueuePair>& qps() { return qps_; }
  [[nodiscard]] const EndpointSpec& spec() const { return spec_; }
  [[nodiscard]] const Hello& peer() const { return peer_; }
  [[nodiscard]] RemoteAddress remote(uint64_t offset) const {
    return {peer_.memory.address + offset, peer_.memory.key};
  }

 private:
  explicit Endpoint(const EndpointSpec& spec) : spec_(spec), memory_(spec.bytes) {}

  [[nodiscard]] ErrorOr<void> OpenAll();
  [[nodiscard]] ErrorOr<void> AddQp();
  [[nodiscard]] ErrorOr<void> FindWay(const Gid& gid);
  [[nodiscard]] Psn FirstPsn(size_t qp) const;

  EndpointSpec spec_;
  std::vector<std::byte> memory_;
  Context context_;
  ProtectionDomain domain_;
  MemoryRegion region_;
  CompletionQueue cq_;
  std::vector<QueuePair> qps_;
  AddressHandle way_;
  Hello peer_;
};

}  // namespace verbena::cli
