#pragma once

#include <infiniband/verbs.h>

#include "ibverbs/objects/objects.h"
#include "verbena/completion.h"

namespace verbena::ibverbs {

// --- The functions that a context's operations point to. ---

int PollCq(ibv_cq* cq, int count, ibv_wc* out) noexcept;
int RequestNotify(ibv_cq* cq, int solicited_only) noexcept;
ibv_cq_ex* CreateCqEx(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int ModifyCq(ibv_cq* cq, ibv_modify_cq_attr* attributes);

// --- Shared by ibv_poll_cq and ibv_start_poll. ---

[[nodiscard]] ibv_wc_opcode OpcodeOf(const Completion& completion);
[[nodiscard]] unsigned FlagsOf(const Completion& completion);  // IBV_WC_*
// The bits of Completion::sl that a program sees. None if the device looks like InfiniBand: there
// the field is a service level, and all traffic has level 0.
[[nodiscard]] uint8_t ServiceLevelMask(const Cq& cq);
// The immediate data in network byte order, or the R_Key that the peer invalidated.
[[nodiscard]] uint32_t ImmediateOf(const Completion& completion);

// Brings ibv_qp::state of the queue pair up to date after a completion with an error: the queue
// pair has entered the error state, and the program can read the field.
void NoteFailure(Cq& cq, const Completion& completion);

// Sets the functions behind ibv_start_poll, ibv_next_poll and ibv_wc_read_*. All of them are set,
// whatever wc_flags the program asked for: that costs nothing, and a program that forgot a flag
// gets the value instead of a crash.
void FillPollFunctions(ibv_cq_ex& cq);

// The IBV_WC_EX_* that a program can ask for.
inline constexpr uint64_t kWcFlagsSupported =
    uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_TM_INFO | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

}  // namespace verbena::ibverbs
