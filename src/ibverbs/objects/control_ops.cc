#include "ibverbs/objects/control_ops.h"

#include "ibverbs/objects/dm.h"

namespace verbena::ibverbs {

void FillControlOps(verbs_context& context) {
  context.query_port = QueryPort;
  context.query_device_ex = QueryDeviceEx;
  context.query_rt_values = QueryValues;
  context.alloc_td = AllocateTd;
  context.dealloc_td = DeallocateTd;
  context.alloc_parent_domain = AllocateParentDomain;
  context.alloc_null_mr = AllocateNullMr;
  context.advise_mr = AdviseMr;
  context.alloc_dm = AllocateDm;
  context.free_dm = FreeDm;
  context.reg_dm_mr = RegisterDm;
  context.open_xrcd = OpenXrcd;
  context.close_xrcd = CloseXrcd;
  context.context.ops.alloc_mw = AllocateMw;
  context.context.ops.dealloc_mw = DeallocateMw;
}

}  // namespace verbena::ibverbs
