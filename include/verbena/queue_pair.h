#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "verbena/completion_queue.h"
#include "verbena/error.h"
#include "verbena/gid.h"
#include "verbena/handle.h"
#include "verbena/numbers.h"
#include "verbena/post_error.h"
#include "verbena/protection_domain.h"
#include "verbena/qp_attributes.h"
#include "verbena/shared_receive_queue.h"
#include "verbena/work_request.h"
#include "verbena/xrc_domain.h"

namespace verbena {

namespace verbs {
struct QpObject;
}

// The size of a work queue and of each of its elements.
struct QueueSize {
  uint32_t capacity = 128;
  uint32_t sges_max = 4;
  uint32_t inline_max = 0;  // bytes; for send queues
  uint32_t pages_max = 0;   // per registration; for send queues
};

// The attributes of a queue pair that never change.
struct QpSpec {
  QpType type = QpType::kRc;
  const CompletionQueue* send_cq = nullptr;
  const CompletionQueue* receive_cq = nullptr;  // may be the same queue; not for kXrcSend
  const SharedReceiveQueue* srq = nullptr;      // nullptr: a receive queue of its own
  // For kXrcReceive, which has no completion queues and no SRQ here: each message names its SRQ.
  const XrcDomain* xrc_domain = nullptr;
  QueueSize send = {};
  QueueSize receive = {};
  RegistrationMode registration = RegistrationMode::kAnticipatory;
};

// What a peer must know to connect.
struct QpAddress {
  QpNumber qp = {};
  Gid gid = {};
  Psn psn = {};  // of the first packet that this side sends

  friend bool operator==(const QpAddress&, const QpAddress&) = default;
};

// The attributes of a connection, which should be the same at both ends. The defaults suit most
// programs.
struct ConnectSettings {
  Access access = Access::kRemote;  // of the peer; further limited by the rights of each key
  // nullopt: the largest MTU of the path, as far as this machine knows it. Both ends must use the
  // same MTU: set it if they might find different ones.
  std::optional<PathMtu> path_mtu = {};
  uint8_t timeout = 14;  // 67 ms
  uint8_t retry_count = 7;
  uint8_t rnr_retry = 7;       // unlimited
  uint8_t min_rnr_timer = 12;  // 640 us
  uint8_t max_rd_atomic = 16;
  uint8_t max_dest_rd_atomic = 16;
  uint32_t interface = 0;  // outgoing; 0 unless an address is link-local
  uint8_t traffic_class = 0;
};

// What happens to the requests of a chain before the first one that is refused.
enum class Chain : uint8_t { kUpToRefused, kAllOrNone };

// A send queue and a receive queue, connected to those of a peer, or an endpoint for datagrams.
class QueuePair : public Handle<verbs::QpObject> {
 public:
  // kXrcReceive belongs to its XRC domain; for it, `domain` can be any of the context.
  [[nodiscard]] static ErrorOr<QueuePair> Create(const ProtectionDomain& domain,
                                                 const QpSpec& spec);
  QueuePair() = default;

  // REFUSES while it is in a multicast group. Destroying the handle leaves its groups.
  [[nodiscard]] ErrorOr<void> Destroy();

  [[nodiscard]] QpNumber number() const;
  [[nodiscard]] QpType type() const;

  // Goes from RESET to RTS. `local` is the address that the peer uses. Receive requests that the
  // first message needs must be posted between Prepare and Connect; without a call of Prepare,
  // Connect does its work. If Connect fails, the queue pair stays in the state that it has reached.
  [[nodiscard]] ErrorOr<void> Prepare(Access access = Access::kRemote);
  [[nodiscard]] ErrorOr<void> Connect(const QpAddress& local, const QpAddress& remote,
                                      const ConnectSettings& settings = {});
  // The same for a queue pair of type UD, which has no single peer.
  [[nodiscard]] ErrorOr<void> Activate(QKey q_key, Psn psn = {});

  [[nodiscard]] ErrorOr<void> Modify(const QpAttributes& attributes);
  [[nodiscard]] ErrorOr<QpReport> Query() const;

  // Joins a multicast group: the queue pair gets datagrams to this address, too.
  [[nodiscard]] ErrorOr<void> AttachMulticast(const Gid& group);
  [[nodiscard]] ErrorOr<void> DetachMulticast(const Gid& group);

  // --- The data path: nothing is allocated, no call blocks. ---

  [[nodiscard]] PostResult Post(const Send& request) const;
  [[nodiscard]] PostResult Post(const Write& request) const;
  [[nodiscard]] PostResult Post(const Read& request) const;
  [[nodiscard]] PostResult Post(const CompareSwap& request) const;
  [[nodiscard]] PostResult Post(const FetchAdd& request) const;
  [[nodiscard]] PostResult Post(const AtomicWrite& request) const;
  [[nodiscard]] PostResult Post(const Flush& request) const;
  [[nodiscard]] PostResult Post(const Bind& request) const;
  [[nodiscard]] PostResult Post(const Invalidate& request) const;
  [[nodiscard]] PostResult Post(const Register& request) const;
  [[nodiscard]] PostResult Post(const RegisterAndSend& request) const;
  [[nodiscard]] PostResult Post(const Delay& request) const;
  [[nodiscard]] PostResult Post(const Receive& request) const;

  // Posts several requests at once. The adapter gets the requests before the first one that is
  // refused, or with kAllOrNone all or none.
  [[nodiscard]] ChainResult PostChain(std::span<const SendRequest> requests,
                                      Chain how = Chain::kUpToRefused) const;
  [[nodiscard]] ChainResult PostChain(std::span<const Receive> requests) const;

 private:
  explicit QueuePair(std::shared_ptr<verbs::QpObject> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
