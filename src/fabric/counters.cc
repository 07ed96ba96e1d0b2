#include "fabric/counters.h"

#include "base/check.h"

namespace verbena {

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
