// The names of what users see, which are those of the layers below.

#include "base/check.h"
#include "verbena/async_event.h"
#include "verbena/counters.h"
#include "verbs/convert.h"

namespace verbena {

static_assert(static_cast<int>(AsyncEventType::kSrqLimitReached) ==
              static_cast<int>(transport::AsyncEventType::kSrqLimitReached));
static_assert(kDrops == adapter::kDrops && kSendDrops == fabric::kDropReasons);

const char* NameOf(CompletionStatus status) {
  return NameOf(static_cast<queue::CompletionStatus>(status));
}

const char* NameOf(CompletionOpcode opcode) {
  return NameOf(static_cast<queue::CompletionOpcode>(opcode));
}

const char* NameOf(QpState state) { return NameOf(static_cast<transport::QpState>(state)); }

const char* NameOf(QpType type) { return NameOf(static_cast<transport::QpType>(type)); }

const char* NameOf(AsyncEventType type) {
  return NameOf(static_cast<transport::AsyncEventType>(type));
}

const char* NameOf(Drop drop) { return NameOf(static_cast<adapter::Drop>(drop)); }

const char* NameOf(SendDrop drop) {
  switch (drop) {
    case SendDrop::kTooLong:
      return "too long";
    case SendDrop::kUnreachable:
      return "unreachable";
    case SendDrop::kForbidden:
      return "forbidden";
    case SendDrop::kNoMemory:
      return "no memory";
    case SendDrop::kSegmentationRefused:
      return "segmentation refused";
    case SendDrop::kOther:
      return "other";
  }
  UNREACHABLE();
}

}  // namespace verbena
