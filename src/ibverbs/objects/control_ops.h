#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

// What programs reach through the context without calling an exported function, as far as it is not
// about queues and work requests: see data_ops.h for those.

namespace verbena::ibverbs {

void FillControlOps(verbs_context& context);

// --- What it points to. ---

int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t size);
int QueryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* input,
                  ibv_device_attr_ex* attributes, size_t size);
int QueryValues(ibv_context* context, ibv_values_ex* values);

ibv_td* AllocateTd(ibv_context* context, ibv_td_init_attr* attributes);
int DeallocateTd(ibv_td* td) noexcept;
ibv_pd* AllocateParentDomain(ibv_context* context, ibv_parent_domain_init_attr* attributes);

ibv_xrcd* OpenXrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int CloseXrcd(ibv_xrcd* xrcd);

ibv_mr* AllocateNullMr(ibv_pd* pd);
int AdviseMr(ibv_pd* pd, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* list,
             uint32_t count);

ibv_mw* AllocateMw(ibv_pd* pd, ibv_mw_type type);
int DeallocateMw(ibv_mw* mw);

}  // namespace verbena::ibverbs
