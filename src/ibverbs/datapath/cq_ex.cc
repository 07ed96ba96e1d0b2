// ibv_start_poll and the related calls: completions one by one, of which the program reads single
// fields.

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <limits>

#include "ibverbs/failure.h"
#include "ibverbs/objects/cq.h"

namespace verbena::ibverbs {
namespace {

const Completion& Current(ibv_cq_ex* cq) { return Cast(cq).current; }

void Show(Cq& cq) {
  if (!cq.current.ok()) [[unlikely]] {
    NoteFailure(cq, cq.current);
  }
  cq.status = static_cast<ibv_wc_status>(cq.current.status);
  cq.wr_id = cq.current.id.value();
}

int StartPoll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
  if (attributes->comp_mask != 0) return EINVAL;
  Cq& own = Cast(cq);
  own.wall_offset_is_known = false;
  const auto found = own.handle.StartPoll(own.current);
  if (!found) return ErrnoOf(found.error());
  if (!*found) return ENOENT;
  Show(own);
  return 0;
}

int NextPoll(ibv_cq_ex* cq) {
  Cq& own = Cast(cq);
  if (!own.handle.NextPoll(own.current)) return ENOENT;
  Show(own);
  return 0;
}

void EndPoll(ibv_cq_ex* cq) { Cast(cq).handle.EndPoll(); }

int64_t Now(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

uint64_t ReadTimestamp(ibv_cq_ex* cq) { return static_cast<uint64_t>(Current(cq).timestamp_ns); }

// The offset of the wall clock. A thread that is preempted between reading the two clocks would be
// wrong by a time slice, so the shortest of a few tries counts.
int64_t MeasureWallOffset() {
  constexpr int kTries = 5;
  constexpr int64_t kGood = 500;  // ns from one clock to the other and back
  int64_t best = std::numeric_limits<int64_t>::max();
  int64_t offset = 0;
  for (int i = 0; i < kTries && best > kGood; ++i) {
    const int64_t before = Now(CLOCK_MONOTONIC);
    const int64_t wall = Now(CLOCK_REALTIME);
    const int64_t after = Now(CLOCK_MONOTONIC);
    if (after - before >= best) continue;
    best = after - before;
    offset = wall - (before + best / 2);
  }
  return offset;
}

// All reads of one completion return the same wall-clock time, and later completions are not
// earlier. So the offset is measured once per poll, and a difference from the last offset below the
// measurement error is ignored; a larger one means that the clock was set.
int64_t WallOffset(Cq& cq) {
  constexpr int64_t kJitter = 10'000;  // ns
  if (cq.wall_offset_is_known) return cq.wall_offset_ns;
  const int64_t measured = MeasureWallOffset();
  if (std::abs(measured - cq.wall_offset_ns) > kJitter) cq.wall_offset_ns = measured;
  cq.wall_offset_is_known = true;
  return cq.wall_offset_ns;
}

uint64_t ReadWallClock(ibv_cq_ex* cq) {
  return static_cast<uint64_t>(Current(cq).timestamp_ns + WallOffset(Cast(cq)));
}

}  // namespace

void FillPollFunctions(ibv_cq_ex& cq) {
  cq.start_poll = StartPoll;
  cq.next_poll = NextPoll;
  cq.end_poll = EndPoll;
  cq.read_opcode = [](ibv_cq_ex* c) { return OpcodeOf(Current(c)); };
  cq.read_vendor_err = [](ibv_cq_ex* c) { return Current(c).vendor_error; };
  cq.read_wc_flags = [](ibv_cq_ex* c) { return FlagsOf(Current(c)); };
  cq.read_byte_len = [](ibv_cq_ex* c) { return Current(c).byte_count; };
  cq.read_imm_data = [](ibv_cq_ex* c) -> __be32 { return ImmediateOf(Current(c)); };
  cq.read_qp_num = [](ibv_cq_ex* c) { return Current(c).qp.value(); };
  cq.read_src_qp = [](ibv_cq_ex* c) { return Current(c).source_qp.value(); };
  cq.read_slid = [](ibv_cq_ex* c) { return uint32_t{Current(c).slid}; };
  cq.read_sl = [](ibv_cq_ex* c) -> uint8_t { return Current(c).sl & ServiceLevelMask(Cast(c)); };
  cq.read_dlid_path_bits = [](ibv_cq_ex* c) { return Current(c).path_bits; };
  cq.read_tm_info = [](ibv_cq_ex* c, ibv_wc_tm_info* info) {
    *info = {.tag = Current(c).tag, .priv = Current(c).tag_context};
  };
  cq.read_completion_ts = ReadTimestamp;
  cq.read_completion_wallclock_ns = ReadWallClock;
}

}  // namespace verbena::ibverbs
