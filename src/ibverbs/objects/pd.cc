// Protection domains; also thread domains and parent domains, which are hints about the calling
// threads.

#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "base/result.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/control_ops.h"
#include "ibverbs/objects/mr_cache.h"
#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

static bool IsParentDomain(const Pd& pd) { return pd.parent != nullptr; }

namespace {

// Checks the attributes of a parent domain.
ErrorOr<void> Check(const ibv_context* context, const ibv_parent_domain_init_attr& attributes) {
  constexpr uint32_t kKnown =
      IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if ((attributes.comp_mask & ~kKnown) != 0) {
    return Fail(Invalid("an unknown attribute in comp_mask"));
  }
  if (attributes.pd == nullptr || attributes.pd->context != context) {
    return Fail(Invalid("a parent domain needs a protection domain of this context"));
  }
  if (IsParentDomain(Cast(attributes.pd))) {
    return Fail(Invalid("the protection domain must not be a parent domain"));
  }
  if (attributes.td != nullptr && attributes.td->context != context) {
    return Fail(Invalid("the thread domain belongs to another context"));
  }
  return {};
}

}  // namespace

ibv_td* AllocateTd(ibv_context* context, ibv_td_init_attr* attributes) try {
  if (attributes->comp_mask != 0) {
    return Null("ibv_alloc_td", Invalid("an unknown attribute in comp_mask"));
  }
  auto td = std::make_unique<Td>();
  td->context = context;
  return td.release();
} catch (...) {
  return ThrownNull("ibv_alloc_td");
}

int DeallocateTd(ibv_td* td) noexcept {
  Td& own = Cast(td);
  if (own.users.any()) return EBUSY;
  delete &own;
  return 0;
}

// The allocators in `attributes` are for the memory of queues. The adapter allocates that itself,
// as if they had returned IBV_ALLOCATOR_USE_DEFAULT.
ibv_pd* AllocateParentDomain(ibv_context* context, ibv_parent_domain_init_attr* attributes) try {
  if (const auto ok = Check(context, *attributes); !ok) {
    return Null("ibv_alloc_parent_domain", ok.error());
  }
  auto pd = std::make_unique<Pd>();
  pd->context = context;
  pd->parent = &Cast(attributes->pd);
  pd->parent_refcount = Refcount(pd->parent->users);
  if (attributes->td != nullptr) pd->td_refcount = Refcount(Cast(attributes->td).users);
  return pd.release();
} catch (...) {
  return ThrownNull("ibv_alloc_parent_domain");
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_pd* ibv_alloc_pd(ibv_context* context) try {
  auto made = verbena::ProtectionDomain::Allocate(Cast(context).handle);
  if (!made) return Null("ibv_alloc_pd", made.error());
  auto pd = std::make_unique<Pd>();
  pd->context = context;
  pd->handle = std::move(*made);
  pd->entry = Cast(context).pds.Add(pd.get());
  pd->ibv_pd::handle = pd->entry.handle();
  OpenCache(*pd, Cast(context).settings);
  return pd.release();
} catch (...) {
  return ThrownNull("ibv_alloc_pd");
}

int ibv_dealloc_pd(ibv_pd* pd) try {
  Pd& own = Cast(pd);
  if (!own.entry.HideIf([&] { return !own.users.any(); })) {
    return Failed("ibv_dealloc_pd",
                  {verbena::ErrorCode::kInUse, "the protection domain still has objects"});
  }
  if (!IsParentDomain(own)) {
    own.cache.Collect(true);  // regions that no program has any more
    if (const auto ok = own.handle.Destroy(); !ok) {
      own.entry.Show();
      return Failed("ibv_dealloc_pd", ok.error());
    }
  }
  CloseCache(own);
  Release(own);
  return 0;
} catch (...) {
  return Thrown("ibv_dealloc_pd");
}
