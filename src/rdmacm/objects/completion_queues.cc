#include "rdmacm/objects/completion_queues.h"

#include "base/error.h"
#include "base/result.h"

namespace verbena::rdmacm {
namespace {

bool Create(Id& id, uint32_t depth, ibv_comp_channel*& channel, ibv_cq*& queue) {
  if (depth == 0) return true;
  channel = ibv_create_comp_channel(id.verbs);
  if (channel == nullptr) return false;
  // The inline functions of rdma_verbs.h expect the id as the context.
  queue = ibv_create_cq(id.verbs, static_cast<int>(depth), &id, channel, 0);
  return queue != nullptr;
}

void Destroy(ibv_comp_channel*& channel, ibv_cq*& queue) {
  if (channel == nullptr) return;  // the program's own queue
  if (queue != nullptr) ibv_destroy_cq(queue);
  ibv_destroy_comp_channel(channel);
  queue = nullptr;
  channel = nullptr;
}

}  // namespace

ErrorOr<void> CreateCompletionQueues(Id& id, uint32_t send_depth, uint32_t receive_depth) {
  if (Create(id, receive_depth, id.recv_cq_channel, id.recv_cq) &&
      Create(id, send_depth, id.send_cq_channel, id.send_cq)) {
    return {};
  }
  const Error error = SystemError("cannot create a completion queue for the id");
  DestroyCompletionQueues(id);
  return Fail(error);
}

void DestroyCompletionQueues(Id& id) {
  if (id.qp_type == IBV_QPT_XRC_RECV && id.srq != nullptr) return;
  Destroy(id.recv_cq_channel, id.recv_cq);
  Destroy(id.send_cq_channel, id.send_cq);
}

}  // namespace verbena::rdmacm
