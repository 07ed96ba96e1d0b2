#include "adapter/loop/short_slice.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace verbena::adapter {
namespace {

// struct sched_attr of the kernel; older C libraries do not declare it.
struct SchedAttributes {
  uint32_t size = sizeof(SchedAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // the slice, if the policy is SCHED_OTHER
  uint64_t deadline = 0;
  uint64_t period = 0;
};
static_assert(sizeof(SchedAttributes) == 48);

}  // namespace

void AskForSlice(Duration slice) {
  constexpr uint32_t kNormal = 0;  // SCHED_OTHER
  SchedAttributes attributes;
  // Read first, so that the other attributes stay as they are.
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != kNormal) return;
  attributes.runtime = static_cast<uint64_t>(slice.nanoseconds());
  // If the kernel refuses, the thread keeps its slices: it is only slower on a busy machine.
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0));
}

}  // namespace verbena::adapter
