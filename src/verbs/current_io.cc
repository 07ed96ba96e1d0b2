#include "verbena/current_io.h"

#include <utility>

#include "memory/spaces/current_io.h"
#include "verbena/memory_region.h"
#include "verbs/convert.h"
#include "verbs/memory_objects.h"
#include "verbs/thrown.h"

namespace verbena {

using memory::CurrentIo;

RegionIo MemoryRegion::current_io() const {
  const bool counts = object() != nullptr && object()->current_io != nullptr;
  return RegionIo(counts ? object().get() : nullptr);
}

bool RegionIo::Begin(uint32_t operations) const {
  CurrentIo::Word* const word = region_ != nullptr ? region_->count() : nullptr;
  return word != nullptr && CurrentIo(*word).Begin(operations) == CurrentIo::BeginResult::kStarted;
}

ErrorOr<void> RegionIo::End(uint32_t operations) const try {
  CurrentIo::Word* const word = region_ != nullptr ? region_->count() : nullptr;
  if (word == nullptr) return Fail(verbs::Empty("current-I/O count"));
  switch (CurrentIo(*word).End(operations)) {
    case CurrentIo::EndResult::kMore:
      return {};
    case CurrentIo::EndResult::kLastWhileQuiesced:
      region_->control().OnQuiesced(region_->keys.local);
      return {};
    case CurrentIo::EndResult::kNotBegun:
      return Fail(verbs::Invalid("more operations end on the region than have begun"));
  }
  return {};
} catch (...) {
  return Fail(verbs::Thrown());
}

bool RegionIo::is_quiesced() const {
  CurrentIo::Word* const word = region_ != nullptr ? region_->count() : nullptr;
  return word != nullptr && CurrentIo(*word).IsQuiesced();
}

// If waiting runs out of memory, the result is that of a timeout.
bool RegionIo::Wait(std::chrono::nanoseconds patience) const try {
  if (region_ == nullptr || region_->count() == nullptr) return false;
  return region_->control().WaitUntilResumed(region_->keys.local, Nanoseconds(patience.count()));
} catch (...) {
  return false;
}

bool RegionIo::CallWhenBack(std::function<void()> then) const try {
  if (region_ == nullptr || region_->count() == nullptr) return false;
  return region_->control().CallWhenResumed(region_->keys.local, std::move(then));
} catch (...) {
  return false;
}

}  // namespace verbena
