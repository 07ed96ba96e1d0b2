// ibv_advise_mr: prefetch of pages that will be needed soon.

#include <infiniband/verbs.h>

#include <cerrno>
#include <optional>
#include <span>

#include "ibverbs/failure.h"
#include "ibverbs/objects/control_ops.h"
#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {
namespace {

std::optional<Advice> AdviceOf(ibv_advise_mr_advice advice) {
  switch (advice) {
    case IBV_ADVISE_MR_ADVICE_PREFETCH:
      return Advice::kPrefetch;
    case IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE:
      return Advice::kPrefetchWrite;
    case IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
      return Advice::kPrefetchNoFault;
  }
  return std::nullopt;
}

// 0, or an error number. The region is not deregistered while the call waits for its pages.
int AdviseOne(Pd& pd, const ibv_sge& sge, Advice advice, bool wait) {
  Mr* mr = nullptr;
  Refcount refcount;
  const bool found = Cast(pd.context).mrs_by_key.With(sge.lkey, [&](Mr& region) {
    mr = &region;
    refcount = Refcount(region.users);
  });
  if (!found) return ENOENT;
  if (&Cast(mr->pd).domain() != &pd.domain()) return EPERM;
  const auto ok = mr->region().Advise(sge.addr - mr->region().start(), sge.length, advice, wait);
  return ok ? 0 : Failed("ibv_advise_mr", ok.error());
}

}  // namespace

int AdviseMr(ibv_pd* pd, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* list,
             uint32_t count) try {
  const auto wanted = AdviceOf(advice);
  if (!wanted) return Unsupported("this advice of ibv_advise_mr");
  if ((flags & ~uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) != 0 || count == 0) {
    return Failed("ibv_advise_mr", Invalid("unknown flags, or no ranges"));
  }
  const bool wait = (flags & IBV_ADVISE_MR_FLAG_FLUSH) != 0;
  for (const ibv_sge& sge : std::span(list, count)) {
    if (const int error = AdviseOne(Cast(pd), sge, *wanted, wait); error != 0) return error;
  }
  return 0;
} catch (...) {
  return Thrown("ibv_advise_mr");
}

}  // namespace verbena::ibverbs
