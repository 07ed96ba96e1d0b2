// Creating and destroying ids, and moving them to another event channel.

#include "rdmacm/objects/id.h"

#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>

#include "rdmacm/failure.h"
#include "rdmacm/objects/completion.h"

namespace verbena::rdmacm {
namespace {

bool IsPortSpace(rdma_port_space space) {
  return space == RDMA_PS_TCP || space == RDMA_PS_UDP || space == RDMA_PS_IB ||
         space == RDMA_PS_IPOIB;
}

// Moves the events that the library itself has posted to the new channel.
ErrorOr<void> MovePosted(Id& id, const EventChannel& from, const EventChannel& to) {
  const MutexLock lock(id.mutex);
  from.handle->Withdraw(ToUser(id.key));
  to.handle->Withdraw(ToUser(id.key));
  for (size_t i = 0; i < id.posted.size(); ++i) {
    if (auto ok = to.handle->Post(ToUser(id.key), 0); !ok) return ok;
  }
  return {};
}

ErrorOr<void> Migrate(Id& id, EventChannel& to) {
  if (id.handle) {
    if (auto ok = id.handle.Migrate(*to.handle); !ok) return ok;
  }
  if (auto ok = MovePosted(id, Cast(id.channel), to); !ok) return ok;
  if (id.is_synchronous()) AcknowledgeKept(id);
  id.channel = &to;
  return {};
}

}  // namespace
}  // namespace verbena::rdmacm

using namespace verbena::rdmacm;  // NOLINT(google-build-using-namespace): the calls are global

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space space) try {
  if (id == nullptr || !IsPortSpace(space)) {
    return Failed("rdma_create_id", Invalid("unknown port space"));
  }
  const bool is_datagram = space == RDMA_PS_UDP || space == RDMA_PS_IPOIB;
  auto made = MakeId(channel, context, space, is_datagram ? IBV_QPT_UD : IBV_QPT_RC);
  if (!made) return Failed("rdma_create_id", made.error());
  *id = made->release();
  return 0;
} catch (...) {
  return MinusOne(Thrown("rdma_create_id"));
}

int rdma_destroy_id(rdma_cm_id* id) try {
  if (id == nullptr) return MinusOne(EINVAL);
  const std::unique_ptr<Id> own(&Cast(id));
  Withdraw(*own);
  AcknowledgeKept(*own);
  own->events.WaitForAll();
  return 0;
} catch (...) {
  return MinusOne(Thrown("rdma_destroy_id"));
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) try {
  constexpr auto kCall = "rdma_migrate_id";
  if (id == nullptr) return MinusOne(EINVAL);
  Id& own = Cast(id);
  if (own.is_synchronous() && channel == nullptr) {
    return Failed(kCall, Invalid("the id is already synchronous"));
  }
  std::unique_ptr<EventChannel> made;
  if (channel == nullptr) {
    auto created = EventChannel::Create();
    if (!created) return Failed(kCall, created.error());
    made = std::move(*created);
  }
  if (const auto ok = Migrate(own, made != nullptr ? *made : Cast(channel)); !ok) {
    return Failed(kCall, ok.error());
  }
  own.own_channel = std::move(made);
  // After this, no event of the old channel is in use.
  own.events.WaitForAll();
  return 0;
} catch (...) {
  return MinusOne(Thrown("rdma_migrate_id"));
}
