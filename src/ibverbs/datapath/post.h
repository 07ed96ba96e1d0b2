#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <span>

#include "verbena/work_request.h"

namespace verbena::ibverbs {

// --- The functions that a context's operations point to. ---

int PostSend(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** refused) noexcept;
int PostReceive(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** refused) noexcept;
int PostSrqReceive(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** refused) noexcept;
int BindWindow(ibv_qp* qp, ibv_mw* window, ibv_mw_bind* bind) noexcept;

// How many requests of a chain are converted and posted at a time.
inline constexpr size_t kChainBatch = 16;

static_assert(sizeof(Sge) == sizeof(ibv_sge) && offsetof(Sge, address) == offsetof(ibv_sge, addr) &&
              offsetof(Sge, length) == offsetof(ibv_sge, length) &&
              offsetof(Sge, key) == offsetof(ibv_sge, lkey));

// A scatter/gather list of the program, read in place: an ibv_sge has the layout of an Sge, and
// nothing in this library writes to it.
[[nodiscard]] inline SgeList ToSges(const ibv_sge* list, int count) {
  if (count == 1) return Sge{list->addr, list->length, Key{list->lkey}};
  return std::span(reinterpret_cast<const Sge*>(list), static_cast<size_t>(count));
}

}  // namespace verbena::ibverbs
