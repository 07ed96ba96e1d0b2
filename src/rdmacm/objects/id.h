#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "rdmacm/objects/event_channel.h"
#include "rdmacm/objects/event_count.h"
#include "rdmacm/objects/id_table.h"
#include "rdmacm/objects/shared_device.h"
#include "verbena/connection_manager.h"
#include "verbena/error.h"

namespace verbena::rdmacm {

enum class IdState : uint8_t {
  kIdle,
  kBound,
  kAddressResolved,
  kRouteResolved,
  kConnect,  // from the request on, on both sides
  kListen,
};

// A multicast group that an id has joined.
struct Group {
  CmAddress address = {};
  void* context = nullptr;
  bool send_only = false;
  bool is_attached = false;
};

// An event that this library makes itself, not the connection manager.
struct PostedEvent {
  rdma_cm_event_type type = {};
  int status = 0;
  std::shared_ptr<Group> group = nullptr;  // of a multicast event
};

// The values of rdma_set_option.
struct IdOptions {
  uint8_t type_of_service = 0;
  std::optional<uint8_t> ack_timeout = std::nullopt;
  CmBindOptions bind = {};
};

// The values that the attributes of a connected queue pair are derived from.
struct Agreement {
  Psn own_psn = {};   // first PSN of the peer
  Psn peer_psn = {};  // first PSN of this side
  QpNumber peer_qp = {};
  uint8_t responder_resources = 0;  // reads and atomics that this side serves
  uint8_t initiator_depth = 0;
  uint8_t retry_count = 7;
  uint8_t rnr_retry_count = 7;
  uint8_t peer_rnr_retry_count = 0;  // what we ask of the peer; 0 until that is known
  uint8_t ack_timeout = 0;
  PathMtu mtu = PathMtu::k1024;
};

// An id: the C structure of librdmacm, followed by members that the program does not see. Cast
// converts one to the other.
//
// Owned by the program, from the call that creates it to rdma_destroy_id. Thread rule of librdmacm:
// any thread, except while another destroys the id; calls that change the state of one id must not
// run concurrently.
struct Id : rdma_cm_id {
  Id(rdma_event_channel* its_channel, void* its_context, rdma_port_space space, ibv_qp_type type);
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  ~Id();

  EventCount events;

  std::unique_ptr<EventChannel> own_channel;  // of a synchronous id; else null
  [[nodiscard]] bool is_synchronous() const { return own_channel != nullptr; }

  CmId handle;                     // empty until the id has an address
  SharedDevice* device = nullptr;  // null until the id has an address of the device
  std::atomic<IdState> state = IdState::kIdle;
  IdOptions options = {};
  std::optional<Agreement> agreement = std::nullopt;  // set when the peer's parameters are known
  uint8_t responder_resources = 0;                    // of rdma_connect, or of the request
  uint8_t initiator_depth = 0;
  std::vector<std::byte> connect_data = {};  // of rdma_create_ep: sent before the private data
  std::optional<ibv_qp_init_attr> qp_template = std::nullopt;  // for rdma_get_request
  ibv_ece local_ece = {};
  ibv_ece remote_ece = {};
  bool has_failed_to_connect = false;  // further events of the connection are dropped

  Mutex mutex;
  std::deque<PostedEvent> posted VERBENA_GUARDED_BY(mutex);
  std::list<std::shared_ptr<Group>> groups VERBENA_GUARDED_BY(mutex);

  // The key that events of this id carry. After Withdraw, events of this id are dropped. The last
  // member, because the constructor enters the id in a table, and must not fail after that.
  const IdKey key;
};

[[nodiscard]] inline Id& Cast(rdma_cm_id* id) { return *static_cast<Id*>(id); }

[[nodiscard]] inline bool IsDatagram(const Id& id) { return id.qp_type == IBV_QPT_UD; }

// Makes an id without address and connection. A null `channel` makes it synchronous.
[[nodiscard]] ErrorOr<std::unique_ptr<Id>> MakeId(rdma_event_channel* channel, void* context,
                                                  rdma_port_space space, ibv_qp_type type);

// Opens the shared device for the id, and shows it to the program.
[[nodiscard]] ErrorOr<void> AttachDevice(Id& id);

// Adds an event after those already in the channel.
[[nodiscard]] ErrorOr<void> PostEvent(Id& id, PostedEvent event);

// Removes the id from the adapter: no event of it is returned any more.
void Withdraw(Id& id);

}  // namespace verbena::rdmacm
