#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

// The operations that programs call through pointers in the context and not through an exported
// function, except those on queues and work requests, which are in data_ops.h.

namespace verbena::ibverbs {

void FillControlOps(verbs_context& context);

// --- The functions that it points to. ---

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
