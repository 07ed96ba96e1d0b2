#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "paging/action.h"
#include "paging/counters.h"
#include "paging/eviction.h"
#include "paging/frame.h"
#include "paging/granule_table.h"
#include "paging/options.h"
#include "paging/outcome.h"
#include "paging/read_ahead.h"
#include "paging/request_table.h"
#include "paging/store_health.h"

namespace verbena::paging {

// The policy of the pager of managed memory: decides which granules of an arena are in memory, and
// never touches one. (state, input, now) -> actions, in order; docs/paging.md has the rules.
//
//   resident_set.PageIn(ticket, run, need, view, now);
//   for (const Action& action : resident_set.actions()) CarryOut(action);
//   resident_set.ClearActions();
//
// An executor carries out the actions of one input before it makes the next input. It makes no
// input from within an action: if a write fails at once, WriteDone follows after the actions. Times
// never go back.
//
// Invariant: the data that the program or a peer wrote last is in memory, or in the store, or being
// written from memory that stays until the write has succeeded. A granule that is dropped is mapped
// in no view.
//
// Allocates in the constructor and until its lists have reached their size; then no more. One
// thread at a time: the pager thread of its owner.
class ResidentSet {
 public:
  enum class State : uint8_t { kZero, kReading, kClean, kDirty, kWriting, kSwapped, kBroken };
  struct Granule {
    State state = State::kZero;
    Rights cpu = Rights::kNone;
    Rights adapter = Rights::kNone;

    friend bool operator==(const Granule&, const Granule&) = default;
  };

  ResidentSet(uint32_t granule_count, const ResidentSetOptions& options);
  ResidentSet(const ResidentSet&) = delete;
  ResidentSet& operator=(const ResidentSet&) = delete;

  // Inputs.

  // A request for `run` in `view`. Ends with one kReady, for the whole run or its first part (at
  // least one granule; the requester requests the rest again), or with one kRefused. The requester
  // has found the granules absent, so they are mapped again even if the resident set has them as
  // mapped.
  void PageIn(Ticket ticket, Run run, Need need, View view, Time now);
  // The executor calls one of these once for each granule of a kRead and of a kWrite, or once for
  // several adjacent granules whose transfers have ended together, so that the actions that follow
  // are merged.
  void ReadDone(Run run, ReadOutcome outcome, Time now);
  void WriteDone(Run run, WriteOutcome outcome, Time now);
  void ReadDone(uint32_t granule, ReadOutcome outcome, Time now) {
    ReadDone(Run{granule, 1}, outcome, now);
  }
  void WriteDone(uint32_t granule, WriteOutcome outcome, Time now) {
    WriteDone(Run{granule, 1}, outcome, now);
  }
  // The program or the adapter has used the run without a request. Only a hint.
  void Used(Run run);
  // The program has discarded the contents, which read as zeros from here on. The memory is freed
  // unless a ticket pins it.
  void Discard(Run run, Time now);
  // Swaps out the run. Ends with one kSwappedOut, which counts the granules that are out of memory
  // then: all, unless the store fails, or a later request has paged some in again. Requests of the
  // adapter that waited before are served first. Nothing is read ahead into the run until SwapIn.
  void SwapOut(Ticket ticket, Run run, Time now);
  // The run of that SwapOut may come back. One that has not ended ends with this.
  void SwapIn(Ticket ticket, Time now);
  // Raises `granules` to kBudgetMin if it is less.
  void SetBudget(uint32_t granules, Time now);
  // The executor calls this at next_time() or later; an earlier call does no harm.
  void OnTime(Time now);

  // Outputs.

  [[nodiscard]] const ActionList& actions() const { return actions_; }
  void ClearActions() { actions_.Clear(); }
  [[nodiscard]] Time next_time() const;

  [[nodiscard]] Granule granule(uint32_t granule) const;
  [[nodiscard]] uint32_t granule_count() const { return granules_.granule_count(); }
  [[nodiscard]] uint32_t budget() const { return shares_.budget; }
  [[nodiscard]] uint32_t tickets_under_way() const { return requests_.size(); }
  [[nodiscard]] Counters counters() const;
  // Visits all granules.
  [[nodiscard]] bool IsConsistent() const;

 private:
  // resident_set.cc: tickets
  void Serve();
  [[nodiscard]] bool MayPass(Run run, Need need) const;
  [[nodiscard]] bool Admit(RequestRecord& request);
  [[nodiscard]] bool AdmitLess(RequestRecord& request);
  [[nodiscard]] uint32_t CountMissing(const RequestRecord& request) const;
  [[nodiscard]] uint32_t CountThere(const RequestRecord& request, uint32_t from) const;
  void Release(RequestRecord& request);
  void Advance(uint32_t index);
  void WakeWaiters(Frame& frame);
  void Finish(uint32_t index);
  [[nodiscard]] Time MinResidencyEnd() const;
  void Refuse(Ticket ticket, RequestError error);
  void MapFor(const RequestRecord& request, Frame& frame);
  void Pin(Frame& frame);
  void Unpin(Frame& frame);

  // resident_set_evict.cc: memory for requests
  [[nodiscard]] uint32_t Limit() const;
  [[nodiscard]] bool MayDirty() const;
  void SetDirty(Frame& frame, bool is_dirty);
  [[nodiscard]] int64_t Reserve() const;
  [[nodiscard]] bool MakeRoom(uint32_t count);
  void FillReserve(uint32_t needed);
  void Balance();
  bool UnmapSome(uint32_t count);
  void PlaceUnmapped(Frame& frame);
  void DropUnmapped(uint64_t count);
  void DropFrame(Frame& frame);
  void EndMinResidency(uint32_t kept);
  void Unmap(Frame& frame);
  void StartWrite(Frame& frame);
  void SetLeaving(Frame& frame, bool is_leaving);

  // resident_set_swap_out.cc: swap-out at the owner's request
  struct SwapOutRecord {
    Ticket ticket = {};
    Run run = {};
    uint64_t started = 0;     // granules before this one are leaving, or were pinned
    uint64_t left = 0;        // granules before this one have left
    bool is_delayed = false;  // by a request in line, which may bring back what has left
    bool has_ended = false;
  };
  void ContinueSwapOuts();
  void Continue(SwapOutRecord& swap_out);
  [[nodiscard]] bool IsToBeRepeated(SwapOutRecord& swap_out);
  [[nodiscard]] bool IsInLine(Run run);
  void End(SwapOutRecord& swap_out);
  [[nodiscard]] bool IsSwappedOut(uint64_t granule) const;
  void DropLeft(SwapOutRecord& swap_out);
  void StartLeaving(SwapOutRecord& swap_out);

  // resident_set_store.cc: to and from the store
  void Fetch(uint32_t granule);
  void FetchAhead(Run run);
  [[nodiscard]] uint64_t StartAhead(Run run);
  void StartRead(Frame& frame);
  void EndRead(Frame& frame, ReadOutcome outcome);
  void EndWrite(Frame& frame, WriteOutcome outcome);
  void OnBadRead(Frame& frame);
  void Break(Frame& frame);
  void DiscardFrame(Frame& frame);
  void Zero(Frame& frame);
  void Remove(Frame& frame, Place place, uint32_t stamp);
  void RetryReads();
  void RetryWrites();
  void Forget(uint32_t granule);
  void EndAhead(Frame& frame, bool is_wanted);

  void Do(Verb verb, Run run) { actions_.Add({.verb = verb, .run = run}); }
  void Do(Verb verb, const Frame& frame) { Do(verb, Run{frame.granule, 1}); }

  const ResidentSetOptions options_;
  Shares shares_;
  GranuleTable granules_;
  Eviction eviction_;
  StoreHealth health_;
  ReadAhead read_ahead_;
  RequestTable requests_;
  std::vector<SwapOutRecord> swap_outs_;
  ActionList actions_;
  Counters counters_;
  Time now_{};  // of the last input

  // A frame that no request pins is in one of these or in a queue of eviction_, except while it is
  // being read, or written to be dropped.
  FrameList min_residency_;  // a request was answered with it recently
  FrameList unmapped_;       // unmapped, clean: dropped when memory is needed
  FrameList stuck_;          // unmapped, dirty, and the store did not take it

  FrameList unread_;  // pinned, to be read again
  Time unread_at_ = Time::Never();
  uint32_t reads_under_way_ = 0;  // those in unread_ included
  uint32_t writes_under_way_ = 0;
  uint32_t leaving_ = 0;  // granules that are being written and not pinned
  uint32_t dirty_ = 0;
  uint32_t pledged_ = 0;  // granules that outstanding tickets will make dirty
  uint32_t ahead_ = 0;    // read ahead, not yet requested
};

}  // namespace verbena::paging
