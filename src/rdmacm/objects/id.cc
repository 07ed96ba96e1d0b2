#include "rdmacm/objects/id.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/result.h"
#include "base/rollback.h"

namespace verbena::rdmacm {

Id::Id(rdma_event_channel* its_channel, void* its_context, rdma_port_space space, ibv_qp_type type)
    : rdma_cm_id{}, key(TheIdTable().Add(*this)) {
  std::memset(&route, 0, sizeof route);
  channel = its_channel;
  context = its_context;
  ps = space;
  qp_type = type;
}

Id::~Id() {
  TheIdTable().Remove(key);
  std::free(route.path_rec);
}

ErrorOr<std::unique_ptr<Id>> MakeId(rdma_event_channel* channel, void* context,
                                    rdma_port_space space, ibv_qp_type type) {
  std::unique_ptr<EventChannel> own;
  if (channel == nullptr) {
    auto made = EventChannel::Create();
    if (!made) return Fail(made.error());
    own = std::move(*made);
    channel = own.get();
  }
  auto id = std::make_unique<Id>(channel, context, space, type);
  id->own_channel = std::move(own);
  return id;
}

ErrorOr<void> AttachDevice(Id& id) {
  if (id.device != nullptr) return {};
  const auto device = SharedDevice::Get();
  if (!device) return Fail(device.error());
  id.device = *device;
  id.verbs = id.device->verbs();
  id.pd = id.device->pd();
  id.port_num = 1;
  return {};
}

ErrorOr<void> PostEvent(Id& id, PostedEvent event) {
  const MutexLock lock(id.mutex);
  id.posted.push_back(std::move(event));
  Rollback pushed([&]() VERBENA_UNDER_CALLERS_LOCK { id.posted.pop_back(); });
  auto posted = Cast(id.channel).handle->Post(ToUser(id.key), 0);
  if (posted) pushed.Keep();
  return posted;
}

void Withdraw(Id& id) {
  TheIdTable().Remove(id.key);
  id.handle = {};
  Cast(id.channel).handle->Withdraw(ToUser(id.key));
}

namespace {

// Runs at the end of the process. The kernel would close the ids of a process that exits; here the
// process itself notifies its peers, which would otherwise wait until their retries end. Other
// threads may still use the ids, so the ids stay, and only their connections end.
__attribute__((destructor)) void DisconnectAll() {
  TheIdTable().ForEach([](Id& id) {
    if (id.state == IdState::kConnect) static_cast<void>(id.handle.Disconnect());
  });
  // SCTP is in this process: what its peers do not have yet would be lost with it.
  SharedDevice::FlushOpened();
}

}  // namespace

}  // namespace verbena::rdmacm
