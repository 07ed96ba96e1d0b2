#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "paging/action.h"
#include "paging/resident_set.h"
#include "sim/findings.h"
#include "sim/paging/plan.h"
#include "sim/paging/store.h"

namespace verbena::sim {

// Carries out the actions of a resident set on simulated memory, and checks each:
//
//   contents  the last write of a granule is in memory or in the store, whatever is dropped or
//             forgotten; only that write is ever mapped, and a granule that is lost never is
//   memory    no granule is dropped, written or read while it is mapped or otherwise in use
//   budget    granules come within the budget; while the store is ill, also within its overrun
//   tickets   each is answered once, with at least one granule that is mapped as was requested; a
//             refusal has a reason
//
// Contents are numbers: each write of a granule has its own, and 0 means never written. One thread.
class PagingMemory {
 public:
  struct Wanted {
    paging::Run run;
    paging::Need need;
    paging::View view;
  };
  struct Answer {
    uint32_t ready = 0;  // 0: refused
    paging::RequestError error = {};
  };

  PagingMemory(const PagingPlan& plan, PagingStore& store, Findings& findings)
      : options_(plan.options), store_(store), findings_(findings), granules_(plan.granules) {}

  // PagingRun calls one of these for each input of the resident set, and then CarryOut with the
  // actions that the input led to.
  void ExpectAnswer(paging::Ticket ticket, const Wanted& wanted) { wanted_[ticket] = wanted; }
  void Discard(paging::Run run);
  void SetBudget(uint32_t budget) { budget_ = budget; }
  void OnDone(const PagingStore::Done& done, Time now);
  void CarryOut(const paging::ActionList& actions, Time now);
  // After an OnDone: checks that the resident set agrees on whether the granule is lost.
  void CheckLoss(uint32_t granule, const paging::ResidentSet& resident_set);

  // Takes the answers that have been given since the last call.
  [[nodiscard]] std::map<paging::Ticket, Answer> TakeAnswers() {
    return std::exchange(answers_, {});
  }

  [[nodiscard]] bool IsMapped(uint32_t granule, paging::View view, paging::Need need) const;
  // The program or a peer uses a granule. REQUIRES: IsMapped.
  void Access(uint32_t granule, paging::Need need);

  // Checks all that the resident set says about the granules, and that no copy in the store is
  // stale.
  void Compare(const paging::ResidentSet& resident_set);
  // Checks that the contents of every granule are in memory or in the store.
  void CheckKept();

  [[nodiscard]] bool IsLost(uint32_t granule) const { return granules_[granule].is_lost; }
  [[nodiscard]] uint32_t in_memory() const { return in_memory_; }
  [[nodiscard]] size_t unanswered() const { return wanted_.size(); }
  [[nodiscard]] uint64_t swap_outs_ended() const { return swap_outs_ended_; }
  [[nodiscard]] uint32_t reports() const { return reports_; }

 private:
  static constexpr uint64_t kGarbage = UINT64_MAX;

  struct Granule {
    uint64_t truth = 0;  // what was written last
    uint64_t contents = 0;
    uint64_t at_start = 0;  // contents when the write to the store began
    uint32_t read_failures = 0;
    paging::Rights cpu = paging::Rights::kNone;
    paging::Rights adapter = paging::Rights::kNone;
    bool is_in_memory = false;
    bool is_reading = false;
    bool is_writing = false;
    bool is_given_up = false;  // discarded during a read
    bool is_lost = false;

    [[nodiscard]] bool is_mapped() const {
      return cpu != paging::Rights::kNone || adapter != paging::Rights::kNone;
    }
    [[nodiscard]] bool is_busy() const { return is_reading || is_writing; }
  };

  void CarryOutOne(const paging::Action& action, uint32_t granule, Time now);
  void Write(Granule& granule, uint32_t index, Time now);
  void Read(Granule& granule, uint32_t index, Time now);
  void Drop(Granule& granule, uint32_t index);
  void MakeZero(Granule& granule, uint32_t index);
  void Map(Granule& granule, uint32_t index, const paging::Action& action);
  void Forget(Granule& granule, uint32_t index);
  void Ready(const paging::Action& action);
  void Refused(const paging::Action& action, Time now);
  void Report(paging::StoreReport report);
  void GrowBy(int32_t count);
  [[nodiscard]] bool IsSafe(const Granule& granule, uint32_t index) const;
  void Demand(bool condition, const char* what, uint32_t granule);

  const paging::ResidentSetOptions options_;
  PagingStore& store_;
  Findings& findings_;
  std::vector<Granule> granules_;
  std::map<paging::Ticket, Wanted> wanted_;
  std::map<paging::Ticket, Answer> answers_;
  uint64_t last_contents_ = 0;
  uint32_t budget_ = options_.budget;
  uint32_t in_memory_ = 0;
  uint64_t swap_outs_ended_ = 0;
  uint32_t in_memory_before_ = 0;  // before the input
  paging::StoreReport reported_ = paging::StoreReport::kWell;
  uint32_t reports_ = 0;
  bool was_good_ = true;  // of the last write
  Time ill_since_{};      // or the time of the last good write
};

}  // namespace verbena::sim
