// Advice about pages that the adapter will need (ibv_advise_mr).

#include <algorithm>

#include "adapter/control/adapter.h"
#include "adapter/control/impl.h"
#include "base/clock.h"
#include "odp/page_jobs.h"
#include "odp/populate.h"

namespace verbena::adapter {
namespace {

using memory::AccessKind;

// nullptr if there is none.
const memory::ProtectionEntry* FindRegion(const memory::MemoryCore& memory, Key key) {
  const auto found = memory.table.FindLive(key, memory::EntryType::kRegion);
  return found ? *found : nullptr;
}

// Each batch is one request to the pager, which queues all of them.
constexpr uint64_t kBatchesMax = 1U << 16;

}  // namespace

bool Adapter::HasNoPages(Key key) {
  Engine& engine = impl_->engine;
  const EngineLock lock(engine);
  const memory::ProtectionEntry* const region = FindRegion(engine.memory, key);
  return region == nullptr || region->is_null;
}

ErrorOr<void> Adapter::CheckAdvice(Key key, const Range& range, AccessKind access) {
  Engine& engine = impl_->engine;
  const EngineLock lock(engine);
  const memory::ProtectionEntry* const region = FindRegion(engine.memory, key);
  if (region == nullptr) return Fail(Error{ErrorCode::kInvalid, "no such region"});
  const uint64_t length = region->length;
  if (range.offset > length || range.length > length - range.offset) {
    return Fail(Error{ErrorCode::kInvalid, "the range does not lie within the region"});
  }
  if (range.length == 0) return {};
  const auto granted =
      engine.memory.translator.Authorize(key, KeyAddress(region->start + range.offset),
                                         range.length, access, {.pd = region->pd, .qp = {}});
  if (!granted) return Fail(Error{ErrorCode::kInvalid, NameOf(granted.error())});
  return {};
}

bool Adapter::IsManaged(const odp::PageJob& job) {
  const EngineLock lock(impl_->engine);
  return impl_->engine.paging.managed.Covers(job.address);
}

// The job from the first absent page to the end of these bytes; nullopt if all are present.
std::optional<odp::PageJob> Adapter::AbsentPages(Key key, uint64_t offset, uint64_t length,
                                                 AccessKind access) {
  Engine& engine = impl_->engine;
  const EngineLock lock(engine);
  const memory::ProtectionEntry* const region = FindRegion(engine.memory, key);
  if (region == nullptr) return std::nullopt;
  for (uint64_t done = 0; done < length;) {
    const memory::Translation translation =
        engine.memory.translator.Translate(key, KeyAddress(region->start + offset + done),
                                           length - done, access, {.pd = region->pd, .qp = {}});
    if (const memory::Fault* const fault = AsFault(translation)) {
      odp::PageJob job =
          odp::JobFor(engine.memory, {.qp = {}, .ticket = {}, .fault = *fault}, UINT64_MAX);
      engine.paging.managed.RefuseProgramView(job);
      return job;
    }
    const memory::Ready* const ready = AsReady(translation);
    if (ready == nullptr) return std::nullopt;  // the region was deregistered meanwhile
    done += ready->spans.length();
  }
  return std::nullopt;
}

ErrorOr<void> Adapter::Advise(Key key, std::span<const Range> ranges, Advice advice, bool wait) {
  if (const auto dead = Dead()) return Fail(*dead);
  const AccessKind access =
      advice == Advice::kPrefetchWrite ? AccessKind::kLocalWrite : AccessKind::kLocalRead;
  for (const Range& range : ranges) {
    if (const auto ok = CheckAdvice(key, range, access); !ok) return ok;
  }
  if (HasNoPages(key)) return {};
  const uint64_t batch = impl_->options.page_batch_max;
  for (const Range& range : ranges) {
    if (range.length / batch >= kBatchesMax) {
      return Fail(LimitError(kBatchesMax, "batches of pages in one advice", "page_batch_max"));
    }
  }
  bool all_came = true;
  const auto map = [&](const odp::PageJob& job) {
    const EngineLock lock(impl_->engine);
    return !impl_->engine.paging.managed.IsProgramView(job) &&
           MapPages(impl_->engine.memory, impl_->pager.watch(), job, Now());
  };
  for (const Range& range : ranges) {
    for (uint64_t done = 0; done < range.length; done += std::min(batch, range.length - done)) {
      auto job =
          AbsentPages(key, range.offset + done, std::min(batch, range.length - done), access);
      if (!job) continue;
      job->asked_at = Now();
      if (advice == Advice::kPrefetchNoFault) {
        // Pages of managed memory that are present may be about to be evicted.
        if (!IsManaged(*job)) odp::ForEachPresent(impl_->pager.presence(), *job, map);
      } else if (!wait) {
        job->is_ahead = true;
        const EngineLock lock(impl_->engine);
        const auto asked = impl_->engine.paging.managed.Submit(*job);
        const bool taken = asked == odp::ManagedPages::Asked::kNotManaged
                               ? impl_->pager.Submit(*job)
                               : asked == odp::ManagedPages::Asked::kAsked;
        if (!taken) return Fail(Error{ErrorCode::kLimit, "out of memory"});
      } else if (impl_->engine.paging.managed.PageIn(*job)) {
        all_came = job->is_mapped && job->paged_in == job->page_count && all_came;
      } else {
        impl_->pager.PageIn(*job);
        all_came = map(*job) && job->paged_in == job->page_count && all_came;
      }
    }
  }
  if (all_came) return {};
  return Fail(
      Error{ErrorCode::kInvalid,
            "pages of the range are not mapped, or not with the access that the advice needs"});
}

}  // namespace verbena::adapter
