// Converts completions to those of the verbs.

#include <algorithm>
#include <cstddef>

#include "base/uninitialized.h"
#include "ibverbs/datapath/numbers.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/cq.h"
#include "ibverbs/objects/qp.h"

namespace verbena::ibverbs {
namespace {

// The values are the same, except for those that the verbs do not have.
static_assert(static_cast<int>(CompletionStatus::kTagMatchingIncomplete) ==
              IBV_WC_TM_RNDV_INCOMPLETE);
static_assert(static_cast<int>(CompletionStatus::kRetryExceeded) == IBV_WC_RETRY_EXC_ERR);
static_assert(static_cast<int>(CompletionOpcode::kInvalidate) == IBV_WC_LOCAL_INV);
static_assert(static_cast<int>(CompletionOpcode::kAtomicWrite) == IBV_WC_ATOMIC_WRITE);
static_assert(static_cast<int>(CompletionOpcode::kReceive) == IBV_WC_RECV);
static_assert(static_cast<int>(CompletionOpcode::kReceiveWithImmediate) ==
              IBV_WC_RECV_RDMA_WITH_IMM);
static_assert(static_cast<int>(CompletionOpcode::kTagAdd) == IBV_WC_TM_ADD);
static_assert(static_cast<int>(CompletionOpcode::kNoTagReceive) == IBV_WC_TM_NO_TAG);

void Convert(const Completion& from, uint8_t sl_mask, ibv_wc& to) {
  to.wr_id = from.id.value();
  to.status = static_cast<ibv_wc_status>(from.status);
  to.opcode = OpcodeOf(from);
  to.vendor_err = from.vendor_error;
  to.byte_len = from.byte_count;
  to.imm_data = ImmediateOf(from);
  to.qp_num = from.qp.value();
  to.src_qp = from.source_qp.value();
  to.wc_flags = FlagsOf(from);
  to.pkey_index = from.p_key_index;
  to.slid = from.slid;
  to.sl = from.sl & sl_mask;
  to.dlid_path_bits = from.path_bits;
}

}  // namespace

ibv_wc_opcode OpcodeOf(const Completion& completion) {
  return static_cast<ibv_wc_opcode>(completion.opcode);
}

unsigned FlagsOf(const Completion& completion) {
  unsigned flags = 0;
  if (completion.has_grh) flags |= IBV_WC_GRH;
  if (completion.with_immediate) flags |= IBV_WC_WITH_IMM;
  if (completion.with_invalidate) flags |= IBV_WC_WITH_INV;
  if (completion.tag_wants_step) flags |= IBV_WC_TM_SYNC_REQ;
  if (completion.tag_matched) flags |= IBV_WC_TM_MATCH;
  if (completion.tag_data_valid) flags |= IBV_WC_TM_DATA_VALID;
  return flags;
}

uint8_t ServiceLevelMask(const Cq& cq) {
  constexpr uint8_t kAll = 0xF;
  return Cast(cq.context).settings.link_layer == LinkLayer::kRoce ? kAll : 0;
}

uint32_t ImmediateOf(const Completion& completion) {
  if (completion.with_invalidate) return completion.invalidated.value();
  return FromImmediate(completion.immediate);
}

void NoteFailure(Cq& cq, const Completion& completion) {
  Cast(cq.context).id_map.With(completion.qp, [](Qp& qp) { RefreshState(qp); });
}

int PollCq(ibv_cq* cq, int count, ibv_wc* out) noexcept {
  constexpr size_t kBatch = 16;
  Uninitialized<Completion, kBatch> batch;
  Cq& own = Cast(cq);
  const uint8_t sl_mask = ServiceLevelMask(own);
  int total = 0;
  while (total < count) {
    const size_t wanted = std::min(kBatch, static_cast<size_t>(count - total));
    const auto found = own.handle.Poll(batch.first(wanted));
    if (!found) return total > 0 ? total : -1;
    for (const Completion& completion : batch.first(*found)) {
      if (!completion.ok()) [[unlikely]] {
        NoteFailure(own, completion);
      }
      Convert(completion, sl_mask, out[total++]);
    }
    if (*found < wanted) break;
  }
  return total;
}

}  // namespace verbena::ibverbs
