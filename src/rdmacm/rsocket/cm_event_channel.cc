#include "rdmacm/rsocket/cm_event_channel.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

namespace verbena::rsockets {

Errno ConnectionEvent::error() const {
  switch (type) {
    case RDMA_CM_EVENT_REJECTED:
      return {ECONNREFUSED};
    case RDMA_CM_EVENT_UNREACHABLE:
      return {status < 0 ? -status : ETIMEDOUT};
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return {ENODEV};
    default:
      return {status < 0 ? -status : ECONNABORTED};
  }
}

ErrnoOr<CmEventChannel> CmEventChannel::Open() {
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (channel == nullptr) return Fail(LastErrno());
  CmEventChannel opened(channel);
  if (fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK) != 0) {
    return Fail(LastErrno());
  }
  return opened;
}

ErrnoOr<OwnedCmId> CmEventChannel::MakeId(rdma_port_space space) const {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(get(), &id, nullptr, space) != 0) return Fail(LastErrno());
  return OwnedCmId(id);
}

std::optional<ConnectionEvent> CmEventChannel::Next() const {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(get(), &event) != 0) return std::nullopt;
  ConnectionEvent copy{
      .type = event->event, .status = event->status, .id = event->id, .param = event->param.conn};
  if (copy.param.private_data != nullptr) {
    copy.private_data_length =
        std::min<std::size_t>(copy.param.private_data_len, copy.private_data_bytes.size());
    std::memcpy(copy.private_data_bytes.data(), copy.param.private_data, copy.private_data_length);
  }
  copy.param.private_data = nullptr;
  copy.param.private_data_len = 0;
  rdma_ack_cm_event(event);
  return copy;
}

}  // namespace verbena::rsockets
