#include "rdmacm/objects/completion.h"

#include <cerrno>
#include <cstdlib>

#include "rdmacm/failure.h"

namespace verbena::rdmacm {

void AcknowledgeKept(Id& id) {
  if (id.event == nullptr) return;
  rdma_ack_cm_event(id.event);
  id.event = nullptr;
}

int Complete(Id& id) {
  if (!id.is_synchronous()) return 0;
  AcknowledgeKept(id);
  if (const int failed = rdma_get_cm_event(id.channel, &id.event); failed != 0) return failed;
  if (id.event->status == 0) return 0;
  // A rejection has a reason code instead of an error number.
  return MinusOne(id.event->event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED
                                                            : std::abs(id.event->status));
}

}  // namespace verbena::rdmacm
