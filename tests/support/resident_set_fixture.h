#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "paging/resident_set.h"

namespace verbena::paging {

// A small resident set. Each input returns the resulting actions, as text separated by "; ".
// The budget is the smallest: 16 granules, of which 4 have minimum residency and one is in reserve.
// A ticket gets at most 4 at a time.
class ResidentSetFixture : public testing::Test {
 protected:
  static constexpr uint32_t kGranules = 64;

  explicit ResidentSetFixture(uint32_t granules = kGranules, uint32_t budget = kBudgetMin)
      : resident_set_(granules, {.budget = budget,
                                 .tickets_max = 8,
                                 .writes_max = 4,
                                 .swap_out_max = 4,
                                 .patience = Seconds(1)}) {}

  std::string PageIn(uint64_t ticket, paging::Run run, Need need = Need::kRead,
                     View view = View::kCpu) {
    Ask(ticket, run, need, view);
    return Take();
  }
  // As PageIn, but leaves the actions for Take. Requests come 1 ms apart, so that minimum residency
  // depends on the number of requests, not on time.
  void Ask(uint64_t ticket, paging::Run run, Need need, View view = View::kCpu) {
    now_ += Milliseconds(1);
    resident_set_.PageIn(Ticket(ticket), run, need, view, now_);
  }
  std::string Read(uint32_t granule) { return PageIn(granule, {granule, 1}); }
  std::string Write(uint32_t granule) { return PageIn(granule, {granule, 1}, Need::kWrite); }
  std::string ReadDone(uint32_t granule, ReadOutcome outcome = ReadOutcome::kGood) {
    resident_set_.ReadDone(granule, outcome, now_);
    return Take();
  }
  std::string WriteDone(uint32_t granule, WriteOutcome outcome = WriteOutcome::kGood) {
    std::erase(begun_, granule);
    resident_set_.WriteDone(granule, outcome, now_);
    return Take();
  }
  std::string Discard(paging::Run run) {
    resident_set_.Discard(run, now_);
    return Take();
  }
  std::string SetBudget(uint32_t granules) {
    resident_set_.SetBudget(granules, now_);
    return Take();
  }
  std::string OnTime(Duration later) {
    now_ += later;
    resident_set_.OnTime(now_);
    return Take();
  }

  // Writes the granules from `first` to `end`, exclusive; all work of the store succeeds.
  void WriteAll(uint32_t first, uint32_t end) {
    for (uint32_t granule = first; granule < end; ++granule) {
      Write(granule);
      EndWrites(WriteOutcome::kGood);
      for (uint32_t i = 0;
           i < resident_set_.granule_count() && resident_set_.tickets_under_way() > 0; ++i) {
        if (StateOf(i) == ResidentSet::State::kReading) ReadDone(i);
      }
      EndWrites(WriteOutcome::kGood);
    }
  }
  // Ends all started writes, including those that this starts.
  void EndWrites(WriteOutcome outcome) {
    for (Take(); !begun_.empty(); Take()) {
      for (const uint32_t granule : std::exchange(begun_, {})) {
        resident_set_.WriteDone(granule, outcome, now_);
      }
    }
  }

  // Takes the actions, as text.
  std::string Take() {
    std::string text;
    for (const Action& action : resident_set_.actions()) {
      text += (text.empty() ? "" : "; ") + ToString(action);
      for (uint32_t i = 0; action.verb == Verb::kWrite && i < action.run.count; ++i) {
        begun_.push_back(action.run.first + i);
      }
    }
    resident_set_.ClearActions();
    EXPECT_TRUE(resident_set_.IsConsistent());
    return text;
  }
  ResidentSet::State StateOf(uint32_t granule) const {
    return resident_set_.granule(granule).state;
  }
  uint32_t in_memory() const { return resident_set_.counters().in_memory; }

  Time now_ = Time(Seconds(100));
  ResidentSet resident_set_;

 private:
  std::vector<uint32_t> begun_;  // writes that have not ended
};

}  // namespace verbena::paging
