// Extended connection (XRC) domains.

#include <infiniband/verbs.h>

#include <memory>
#include <utility>

#include "ibverbs/failure.h"
#include "ibverbs/objects/control_ops.h"
#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

ibv_xrcd* OpenXrcd(ibv_context* context, ibv_xrcd_init_attr* attributes) try {
  constexpr uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if (attributes->comp_mask != kNeeded) {
    return Null("ibv_open_xrcd",
                Invalid("comp_mask must have the bits for fd and oflags, and no others"));
  }
  Context& own = Cast(context);
  auto domain = own.xrc_files.Open(own.handle, attributes->fd, attributes->oflags);
  if (domain == nullptr) return nullptr;
  auto xrcd = std::make_unique<Xrcd>();
  xrcd->context = context;
  xrcd->handle = std::move(domain);
  return xrcd.release();
} catch (...) {
  return ThrownNull("ibv_open_xrcd");
}

int CloseXrcd(ibv_xrcd* xrcd) try {
  Xrcd& own = Cast(xrcd);
  if (const int error = Cast(xrcd->context).xrc_files.Close(own.handle); error != 0) return error;
  delete &own;
  return 0;
} catch (...) {
  return Thrown("ibv_close_xrcd");
}

}  // namespace verbena::ibverbs
