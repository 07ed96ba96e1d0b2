#include "memory/access.h"

namespace verbena::memory {

const char* NameOf(AccessKind access) {
  switch (access) {
    case AccessKind::kLocalRead:
      return "local read";
    case AccessKind::kLocalWrite:
      return "local write";
    case AccessKind::kBind:
      return "bind";
    case AccessKind::kRemoteRead:
      return "remote read";
    case AccessKind::kRemoteWrite:
      return "remote write";
    case AccessKind::kRemoteAtomic:
      return "remote atomic";
    case AccessKind::kTaskSend:
      return "iSCSI R2T";
    case AccessKind::kTaskReceive:
      return "iSCSI Data-In";
  }
  return "?";
}

}  // namespace verbena::memory
