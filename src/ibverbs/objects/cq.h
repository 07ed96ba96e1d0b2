#pragma once

#include <infiniband/verbs.h>

#include "ibverbs/objects/objects.h"
#include "verbena/completion.h"

namespace verbena::ibverbs {

// --- What a context's operations point to. ---

int PollCq(ibv_cq* cq, int count, ibv_wc* out) noexcept;
int RequestNotify(ibv_cq* cq, int solicited_only) noexcept;
ibv_cq_ex* CreateCqEx(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int ModifyCq(ibv_cq* cq, ibv_modify_cq_attr* attributes);

// --- Shared by the ways to poll. ---

[[nodiscard]] ibv_wc_opcode OpcodeOf(const Completion& completion);
[[nodiscard]] unsigned FlagsOf(const Completion& completion);  // IBV_WC_*
// What a program sees of Completion::sl: nothing, if it takes the device for InfiniBand, where all
// traffic has service level 0.
[[nodiscard]] uint8_t ServiceLevelMask(const Cq& cq);
// The immediate data, or the key that ended.
[[nodiscard]] uint32_t ImmediateOf(const Completion& completion);

// A queue pair whose request failed is in error, and the program may look at its state.
void NoteFailure(Cq& cq, const Completion& completion);

// The functions of ibv_start_poll and what follows it. All are there, whatever was asked for: they
// cost nothing, and a program that forgot to ask gets its answer and no crash.
void FillPollFunctions(ibv_cq_ex& cq);

// Of IBV_WC_EX_*: which ones can be asked for.
inline constexpr uint64_t kWcFlagsSupported =
    uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_TM_INFO | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

}  // namespace verbena::ibverbs
