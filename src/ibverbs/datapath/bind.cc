#include "ibverbs/datapath/bind.h"

#include "base/result.h"
#include "ibverbs/datapath/post.h"
#include "ibverbs/datapath/send_flags.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/access_flags.h"
#include "ibverbs/objects/region_access.h"

namespace verbena::ibverbs {
namespace {

constexpr uint32_t kVariant = 0xFF;

}  // namespace

Key KeyOf(const Mw& window, uint32_t rkey) {
  return Key{(window.handle.first_key().value() & ~kVariant) | (rkey & kVariant)};
}

void NoteBind(Mw& window, Key wanted) {
  window.bound = wanted;
  window.rkey = wanted.value();
}

CodeOr<Bind> ToBind(const Qp& qp, const Mw& window, Key wanted, const ibv_mw_bind_info& info) {
  const ibv_mr* const region = info.mr;
  // A bind of 0 bytes unbinds a type 1 window; type 2 windows are invalidated instead.
  const bool unbinds = info.length == 0 && window.type == IBV_MW_TYPE_1;
  if (region == nullptr && !unbinds) return Fail(ErrorCode::kInvalid);
  if (window.pd != qp.qp_base.pd || (region != nullptr && region->pd != window.pd)) {
    return Fail(ErrorCode::kNotPermitted);
  }
  const auto access = WindowAccess(info.mw_access_flags);
  if (!access) return Fail(ErrorCode::kInvalid);
  return Bind{.window = window.handle.first_key(),
              .by_index = true,
              .r_key = wanted,
              .region = Key{region != nullptr ? region->lkey : 0},
              .start = info.addr,
              .length = info.length,
              .access = *access,
              .zero_based = (info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0,
              .one_touch = Cast(window.context).settings.one_touch_windows};
}

int BindWindow(ibv_qp* qp, ibv_mw* window, ibv_mw_bind* bind) noexcept {
  const Qp& own = Cast(qp);
  Mw& mw = Cast(window);
  if ((own.send_ops & IBV_QP_EX_WITH_BIND_MW) == 0) return EINVAL;
  const Key wanted = NextKey(mw.key());
  auto request = ToBind(own, mw, wanted, bind->bind_info);
  if (!request) return ErrnoOf(request.error());
  request->id = WrId{bind->wr_id};
  request->flags = ToSendFlags(own, bind->send_flags);
  if (const int error = Posted("ibv_bind_mw", own.handle.Post(*request)); error != 0) return error;
  NoteBind(mw, wanted);
  return 0;
}

}  // namespace verbena::ibverbs
