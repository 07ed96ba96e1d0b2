// Memory regions: registering, changing, deregistering.

#include "ibverbs/objects/mr.h"

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/result.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/control_ops.h"
#include "ibverbs/objects/mr_cache.h"
#include "ibverbs/objects/objects.h"
#include "ibverbs/objects/region_access.h"
#include "ibverbs/warnings.h"

// These macros would replace the definitions below.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace verbena::ibverbs {
namespace {

std::span<std::byte> BytesAt(void* address, size_t length) {
  return {static_cast<std::byte*>(address), length};
}

// The whole address space: on demand, from 0, with the maximum length.
bool IsEverything(const void* address, size_t length, unsigned flags) {
  return address == nullptr && length == SIZE_MAX && (flags & IBV_ACCESS_ON_DEMAND) != 0;
}

ErrorOr<MemoryRegion> RegisterAt(Pd& pd, void* address, size_t length, uint64_t iova,
                                 unsigned flags) {
  const auto access = RegionAccess(flags);
  if (!access) return Fail(Invalid("unknown access flags, or remote write without local write"));
  if (IsEverything(address, length, flags)) {
    return MemoryRegion::RegisterEverything(pd.domain(), *access);
  }
  const bool zero_based = (flags & IBV_ACCESS_ZERO_BASED) != 0;
  return MemoryRegion::Register(pd.domain(), BytesAt(address, length), *access,
                                {.start = zero_based ? 0 : iova,
                                 .zero_based = zero_based,
                                 .on_demand = (flags & IBV_ACCESS_ON_DEMAND) != 0});
}

// The structure without its region: that is added by the caller.
std::unique_ptr<Mr> MakeMr(ibv_pd* pd, void* address, size_t length, unsigned flags) {
  auto mr = std::make_unique<Mr>();
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = address;
  mr->length = length;
  mr->access = flags;
  mr->pd_refcount = Refcount(Cast(pd).users);
  mr->entry = Cast(pd->context).mrs.Add(mr.get());
  mr->ibv_mr::handle = mr->entry.handle();
  return mr;
}

ibv_mr* WithKeys(std::unique_ptr<Mr> mr) {
  mr->lkey = mr->region().l_key().value();
  mr->rkey = mr->region().r_key().value();
  mr->by_key = Cast(mr->context).mrs_by_key.Put(mr->lkey, mr.get());
  return mr.release();
}

// Nullptr if the cache does not serve it, or is full.
ibv_mr* RegisterCached(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned flags) {
  if (!IsCached(Cast(pd), address, length, iova, flags)) return nullptr;
  auto mr = MakeMr(pd, address, length, flags);
  auto region = Cast(pd).registration_cache().Acquire(address, length, *RegionAccess(flags));
  if (!region) return nullptr;
  mr->cached = std::move(*region);
  return WithKeys(std::move(mr));
}

ibv_mr* Register(const char* call, ibv_pd* pd, void* address, size_t length, uint64_t iova,
                 unsigned flags) {
  if (ibv_mr* const cached = RegisterCached(pd, address, length, iova, flags)) return cached;
  auto made = RegisterAt(Cast(pd), address, length, iova, flags);
  WarnOfBudget(Cast(pd->context));
  if (!made) return Null(call, made.error());
  return Wrap(pd, std::move(*made), address, length, flags);
}

// The arguments of ibv_rereg_mr as a change of the region.
//
// The keys stay the same, as with other drivers, because programs do not send them to their peers
// again.
ErrorOr<RegionChange> ChangeOf(int flags, ibv_pd* pd, void* address, size_t length, int access) {
  RegionChange change{.keep_keys = true};
  if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || flags == 0) {
    return Fail(Invalid("flags must contain IBV_REREG_MR_* bits, and no others"));
  }
  if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
    if (address == nullptr || length == 0)
      return Fail(Invalid("the address is null, or the length is 0"));
    change.bytes = BytesAt(address, length);
  }
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
    if (pd == nullptr) return Fail(Invalid("the protection domain is a null pointer"));
    change.domain = &Cast(pd).domain();
  }
  if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) {
    change.access = RegionAccess(static_cast<unsigned>(access));
    if (!change.access)
      return Fail(Invalid("unknown access flags, or remote write without local write"));
  } else if (access != 0) {
    return Fail(Invalid("access must be 0 without IBV_REREG_MR_CHANGE_ACCESS"));
  }
  return change;
}

}  // namespace

ibv_mr* Wrap(ibv_pd* pd, MemoryRegion region, void* address, size_t length, unsigned flags) {
  auto mr = MakeMr(pd, address, length, flags);
  mr->handle = std::move(region);
  return WithKeys(std::move(mr));
}

ibv_mr* AllocateNullMr(ibv_pd* pd) try {
  auto made = MemoryRegion::RegisterNull(Cast(pd).domain());
  if (!made) return Null("ibv_alloc_null_mr", made.error());
  return Wrap(pd, std::move(*made), nullptr, 0, 0);
} catch (...) {
  return ThrownNull("ibv_alloc_null_mr");
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                         unsigned int access) try {
  return Register("ibv_reg_mr_iova2", pd, address, length, iova, access);
} catch (...) {
  return ThrownNull("ibv_reg_mr_iova2");
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t length, uint64_t iova, int access) try {
  return Register("ibv_reg_mr_iova", pd, address, length, iova, static_cast<unsigned>(access));
} catch (...) {
  return ThrownNull("ibv_reg_mr_iova");
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) try {
  return Register("ibv_reg_mr", pd, address, length, reinterpret_cast<uintptr_t>(address),
                  static_cast<unsigned>(access));
} catch (...) {
  return ThrownNull("ibv_reg_mr");
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* /*pd*/, uint64_t /*offset*/, size_t /*length*/, uint64_t /*iova*/,
                          int /*fd*/, int /*access*/) {
  return UnsupportedNull("ibv_reg_dmabuf_mr");
}

int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length, int access) try {
  Mr& own = Cast(mr);
  const auto change = ChangeOf(flags, pd, address, length, access);
  if (!change) {
    errno = Failed("ibv_rereg_mr", change.error());
    return IBV_REREG_MR_ERR_INPUT;
  }
  own.cached.Discard();  // no longer what the cache knows
  // The error code says that the change was refused and that the old region is still valid.
  if (const auto ok = own.region().Reregister(*change); !ok) {
    errno = Failed("ibv_rereg_mr", ok.error());
    return IBV_REREG_MR_ERR_INPUT;
  }
  if (change->domain != nullptr) {
    own.pd = pd;
    own.pd_refcount = Refcount(Cast(pd).users);
  }
  if (change->bytes) {
    own.addr = address;
    own.length = length;
  }
  if (change->access) own.access = static_cast<unsigned>(access);
  return 0;
} catch (...) {
  errno = Thrown("ibv_rereg_mr");
  return IBV_REREG_MR_ERR_INPUT;
}

int ibv_dereg_mr(ibv_mr* mr) try {
  Mr& own = Cast(mr);
  if (!own.by_key.HideIf([&] { return !own.users.any(); })) {
    return Failed("ibv_dereg_mr", {verbena::ErrorCode::kInUse, "a call of ibv_advise_mr uses it"});
  }
  if (!own.cached) {
    if (const auto ok = own.handle.Destroy(); !ok) {
      own.by_key.Show();
      return Failed("ibv_dereg_mr", ok.error());
    }
  }
  WarnOfBudget(Cast(mr->context));
  delete &own;
  return 0;
} catch (...) {
  return Thrown("ibv_dereg_mr");
}
