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

// How large a work queue is, and each element of it.
struct QueueSize {
  uint32_t capacity = 128;
  uint32_t sges_max = 4;
  uint32_t inline_max = 0;  // bytes; of a send queue
  uint32_t pages_max = 0;   // of a registration; of a send queue
};

// What a queue pair is to be, for good.
struct QpSpec {
  QpType type = QpType::kRc;
  const CompletionQueue* send_cq = nullptr;
  const CompletionQueue* receive_cq = nullptr;  // may be the same; not of kXrcSend
  const SharedReceiveQueue* srq = nullptr;      // or receives of its own
  // Of kXrcReceive, which has neither of the above: each message says whose queues it is for.
  const XrcDomain* xrc_domain = nullptr;
  QueueSize send = {};
  QueueSize receive = {};
  RegistrationMode registration = RegistrationMode::kAnticipatory;
};

// What a peer must know to connect.
struct QpAddress {
  QpNumber qp = {};
  Gid gid = {};
  Psn psn = {};  // of the first packet that it sends

  friend bool operator==(const QpAddress&, const QpAddress&) = default;
};

// What both ends of a connection should agree on, with values that are good for most.
struct ConnectSettings {
  Access access = Access::kRemote;  // of the peer, beyond which no key goes
  // The largest that fits the way as this machine knows it. Both ends must come to the same; where
  // they may not, name it.
  std::optional<PathMtu> path_mtu = {};
  uint8_t timeout = 14;  // 67 ms
  uint8_t retry_count = 7;
  uint8_t rnr_retry = 7;       // for ever
  uint8_t min_rnr_timer = 12;  // 640 us
  uint8_t max_rd_atomic = 16;
  uint8_t max_dest_rd_atomic = 16;
  uint32_t interface = 0;  // to leave by; 0 unless an address is link-local
  uint8_t traffic_class = 0;
};

// What becomes of the requests of a chain before the first that is refused.
enum class Chain : uint8_t { kUpToRefused, kAllOrNone };

// A send queue and a receive queue, and what connects them to another.
class QueuePair : public Handle<verbs::QpObject> {
 public:
  // kXrcReceive belongs to its XRC domain; any protection domain of the context will do.
  [[nodiscard]] static ErrorOr<QueuePair> Create(const ProtectionDomain& domain,
                                                 const QpSpec& spec);
  QueuePair() = default;

  // REFUSES while it is in a multicast group. To let it end leaves its groups.
  [[nodiscard]] ErrorOr<void> Destroy();

  [[nodiscard]] QpNumber number() const;
  [[nodiscard]] QpType type() const;

  // From RESET all the way to RTS. `local` is the address that the peer has. Receive requests that
  // must be there for the first message are posted between Prepare and Connect; without, Connect
  // prepares. If it fails the queue pair is in the state that it had reached.
  [[nodiscard]] ErrorOr<void> Prepare(Access access = Access::kRemote);
  [[nodiscard]] ErrorOr<void> Connect(const QpAddress& local, const QpAddress& remote,
                                      const ConnectSettings& settings = {});
  // The same for a datagram queue pair, which talks to many: from RESET to RTS.
  [[nodiscard]] ErrorOr<void> Activate(QKey q_key, Psn psn = {});

  [[nodiscard]] ErrorOr<void> Modify(const QpAttributes& attributes);
  [[nodiscard]] ErrorOr<QpReport> Query() const;

  // Datagrams to this address come to it, too.
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

  // Several at once: the adapter sees all of them or, up to the first that is refused, those before
  // it: or none of them, if so asked.
  [[nodiscard]] ChainResult PostChain(std::span<const SendRequest> requests,
                                      Chain how = Chain::kUpToRefused) const;
  [[nodiscard]] ChainResult PostChain(std::span<const Receive> requests) const;

 private:
  explicit QueuePair(std::shared_ptr<verbs::QpObject> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
