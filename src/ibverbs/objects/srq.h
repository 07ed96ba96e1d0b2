#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace verbena::ibverbs {

// --- The functions that a context's operations point to. ---

ibv_srq* CreateSrqEx(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int GetSrqNumber(ibv_srq* srq, uint32_t* number) noexcept;
int PostSrqOperations(ibv_srq* srq, ibv_ops_wr* operations, ibv_ops_wr** refused) noexcept;

}  // namespace verbena::ibverbs
