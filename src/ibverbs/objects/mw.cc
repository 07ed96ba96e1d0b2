// Memory windows: allocating and freeing. Binding is work for a queue pair.

#include <infiniband/verbs.h>

#include <memory>
#include <utility>

#include "ibverbs/failure.h"
#include "ibverbs/objects/control_ops.h"
#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

ibv_mw* AllocateMw(ibv_pd* pd, ibv_mw_type type) try {
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
    return Null("ibv_alloc_mw", Invalid("an unknown type: IBV_MW_TYPE_1 or IBV_MW_TYPE_2"));
  }
  const auto kind = type == IBV_MW_TYPE_1 ? WindowType::k1 : WindowType::k2B;
  auto made = MemoryWindow::Allocate(Cast(pd).domain(), kind);
  if (!made) return Null("ibv_alloc_mw", made.error());
  auto mw = std::make_unique<Mw>();
  mw->context = pd->context;
  mw->pd = pd;
  mw->rkey = made->first_key().value();
  mw->type = type;
  mw->handle = std::move(*made);
  mw->pd_refcount = Refcount(Cast(pd).users);
  return mw.release();
} catch (...) {
  return ThrownNull("ibv_alloc_mw");
}

int DeallocateMw(ibv_mw* mw) try {
  Mw& own = Cast(mw);
  if (const auto ok = own.handle.Destroy(); !ok) return Failed("ibv_dealloc_mw", ok.error());
  delete &own;
  return 0;
} catch (...) {
  return Thrown("ibv_dealloc_mw");
}

}  // namespace verbena::ibverbs
