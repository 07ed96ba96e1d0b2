#include "odp/pinned_memory.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/page.h"
#include "base/rollback.h"
#include "base/when_memory.h"

namespace verbena::odp {
namespace {

// Locks or unlocks, by a direct system call: sanitizers replace the library's functions by empty
// ones.
long Lock(Interval pages, long call) {
  return syscall(call, pages.first, pages.last - pages.first + 1);
}

Error ErrorOfLock(int error, uint64_t bytes) {
  rlimit limit{};
  const bool is_limit = (error == ENOMEM || error == EPERM || error == EAGAIN) &&
                        getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  std::string text = "cannot pin " + std::to_string(bytes) + " bytes: ";
  if (is_limit) {
    text += "the memlock limit of this process is " + std::to_string(limit.rlim_cur >> 10) +
            " KiB (ulimit -l), or the memory is not mapped; without VERBENA_PIN nothing is pinned";
  } else {
    text += std::strerror(error);
  }
  if (is_limit) return {ErrorCode::kLimit, text};
  return {ErrorCode::kSystem, text, error};
}

}  // namespace

ErrorOr<void> PinnedMemory::Pin(uint64_t address, uint64_t length) {
  if (length == 0) return {};
  const Interval pages = CoveringPages(address, length);
  const MutexLock lock(mutex_);
  Count(pages, true);
  if (Lock(pages, SYS_mlock) == 0) return {};
  const int error = errno;
  // A part of them may be locked.
  Discount(pages);
  return Fail(ErrorOfLock(error, length));
}

void PinnedMemory::Unpin(uint64_t address, uint64_t length) {
  if (length == 0) return;
  const MutexLock lock(mutex_);
  Discount(CoveringPages(address, length));
}

// Pages stay pinned if there is no memory to change the counts.
void PinnedMemory::Discount(Interval pages) {
  static_cast<void>(WhenMemory([&]() VERBENA_UNDER_CALLERS_LOCK { Count(pages, false); }));
}

// Unlocks pages that no region needs any more.
void PinnedMemory::Count(Interval pages, bool one_more) {
  std::vector<std::pair<Interval, uint32_t>> parts;
  uint64_t at = pages.first;
  const auto add = [&](uint64_t last, uint32_t count) {
    parts.push_back({{at, last}, count});
    at = last + 1;
  };
  counts_.ForEachOverlap(pages, [&](const IntervalMap<uint32_t>::Entry& entry) {
    if (entry.interval.first > at) add(entry.interval.first - 1, 0);
    add(std::min(entry.interval.last, pages.last), entry.value);
  });
  if (parts.empty() || parts.back().first.last < pages.last) add(pages.last, 0);
  uint64_t done = pages.first;
  Rollback counted([&]() VERBENA_UNDER_CALLERS_LOCK {
    if (one_more && done > pages.first) Discount({pages.first, done - 1});
  });
  for (const auto& [part, count] : parts) {
    if (one_more || count > 1) {
      counts_.Assign(part, one_more ? count + 1 : count - 1);
    } else {
      counts_.Erase(part);
      // The program may have unmapped the pages, which unlocked them.
      static_cast<void>(Lock(part, SYS_munlock));
    }
    done = part.last + 1;
  }
  counted.Keep();
}

void PinnedMemory::Attach(uint64_t address, uint64_t length, Key region) {
  if (length == 0) return;
  const MutexLock lock(mutex_);
  regions_.insert_or_assign(region.index().value(), CoveringPages(address, length));
}

void PinnedMemory::Release(Key region) {
  const MutexLock lock(mutex_);
  const auto found = regions_.find(region.index().value());
  if (found == regions_.end()) return;
  Discount(found->second);
  regions_.erase(found);
}

void PinnedMemory::Rekey(Key from, Key to) {
  const MutexLock lock(mutex_);
  auto node = regions_.extract(from.index().value());
  if (node.empty()) return;
  node.key() = to.index().value();
  regions_.insert(std::move(node));
}

uint64_t PinnedMemory::region_count() const {
  const MutexLock lock(mutex_);
  return regions_.size();
}

}  // namespace verbena::odp
