#include "adapter/loop/short_slice.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace verbena::adapter {
namespace {

// As the system call takes it; older C libraries have no declaration.
struct SchedAttributes {
  uint32_t size = sizeof(SchedAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // of a normal thread: its slice
  uint64_t deadline = 0;
  uint64_t period = 0;
};
static_assert(sizeof(SchedAttributes) == 48);

}  // namespace

void AskForSlice(Duration slice) {
  constexpr uint32_t kNormal = 0;  // SCHED_OTHER
  SchedAttributes attributes;
  // The other attributes stay as they are.
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != kNormal) return;
  attributes.runtime = static_cast<uint64_t>(slice.nanoseconds());
  // A refusal leaves the usual slices: slower on a busy machine, and nothing else.
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0));
}

}  // namespace verbena::adapter
