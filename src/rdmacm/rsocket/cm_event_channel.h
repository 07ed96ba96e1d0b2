#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "rdmacm/rsocket/errno.h"

namespace verbena::rsockets {

struct DestroyCmId {
  void operator()(rdma_cm_id* id) const { rdma_destroy_id(id); }
};
// REQUIRES, when it is destroyed: the queue pair of the id was destroyed.
using OwnedCmId = std::unique_ptr<rdma_cm_id, DestroyCmId>;

// A copy of an event of the connection manager, which is already acknowledged. A value type.
struct ConnectionEvent {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;
  rdma_conn_param param{};  // without private data
  std::array<std::byte, 256> private_data_bytes{};
  std::size_t private_data_length = 0;

  [[nodiscard]] std::span<const std::byte> private_data() const {
    return std::span(private_data_bytes).first(private_data_length);
  }
  // The error number if the event reports a failed connection: ECONNREFUSED, ETIMEDOUT, ...;
  // otherwise 0.
  [[nodiscard]] Errno error() const;
};

// An event channel that never blocks. Any thread, one at a time for Next.
class CmEventChannel {
 public:
  [[nodiscard]] static ErrnoOr<CmEventChannel> Open();

  [[nodiscard]] rdma_event_channel* get() const { return channel_.get(); }
  [[nodiscard]] int fd() const { return channel_->fd; }
  [[nodiscard]] ErrnoOr<OwnedCmId> MakeId(rdma_port_space space) const;

  // The next event; nullopt if there is none.
  [[nodiscard]] std::optional<ConnectionEvent> Next() const;

 private:
  struct Close {
    void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
  };

  explicit CmEventChannel(rdma_event_channel* channel) : channel_(channel) {}

  std::unique_ptr<rdma_event_channel, Close> channel_;
};

}  // namespace verbena::rsockets
