#include "verbena/current_io.h"

#include <utility>

#include "verbena/memory_region.h"
#include "verbs/convert.h"
#include "verbs/memory_objects.h"
#include "verbs/thrown.h"

namespace verbena {

RegionIo MemoryRegion::current_io() const {
  if (object() == nullptr || object()->current_io == nullptr) return {};
  return RegionIo(object().get(), object()->current_io, object()->pd->device.fork_mark());
}

ErrorOr<void> RegionIo::Refuse(bool has_count) try {
  if (!has_count) return Fail(verbs::Empty("current-I/O count"));
  return Fail(verbs::Invalid("not so many operations on the region have begun"));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> RegionIo::TellHost() const try {
  region_->control().OnQuiesced(region_->keys.local);
  return {};
} catch (...) {
  return Fail(verbs::Thrown());
}

// If waiting runs out of memory, the result is that of a timeout.
bool RegionIo::Wait(std::chrono::nanoseconds patience) const try {
  if (!counts()) return false;
  return region_->control().WaitUntilResumed(region_->keys.local, Nanoseconds(patience.count()));
} catch (...) {
  return false;
}

bool RegionIo::CallWhenBack(std::function<void()> then) const try {
  if (!counts()) return false;
  return region_->control().CallWhenResumed(region_->keys.local, std::move(then));
} catch (...) {
  return false;
}

}  // namespace verbena
