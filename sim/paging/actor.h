#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "paging/action.h"
#include "sim/paging/memory.h"
#include "sim/paging/plan.h"

namespace verbena::sim {

// A user of managed memory. A thread of the program needs up to four granules at once, anywhere,
// and requests them one fault at a time, as an instruction does. A queue pair needs a run of
// granules, uses them one after the other, and requests all that is left of the run. One thread.
class PagingActor {
 public:
  PagingActor(paging::View view, const PagingPlan& plan, Random random)
      : view_(view), plan_(plan), random_(random) {}

  // Chooses the granules to use next.
  void ChooseGoal();
  // Uses what is mapped. False: a granule is missing, and must be requested.
  [[nodiscard]] bool Work(PagingMemory& memory);
  // What to request. REQUIRES: Work has returned false.
  [[nodiscard]] PagingMemory::Wanted Missing(const PagingMemory& memory) const;

  void SetTicket(paging::Ticket ticket) { ticket_ = ticket; }
  void OnAnswer(const PagingMemory::Answer& answer);

  [[nodiscard]] paging::Ticket ticket() const { return ticket_; }
  [[nodiscard]] bool is_waiting() const { return ticket_ != paging::Ticket(); }
  [[nodiscard]] bool is_idle() const { return goal_.empty(); }
  // The last granule of the last goal that was reached; 0 before the first.
  [[nodiscard]] uint32_t last_used() const { return last_used_; }
  [[nodiscard]] uint64_t goals_reached() const { return goals_reached_; }

 private:
  [[nodiscard]] uint32_t ChooseGranule();
  [[nodiscard]] bool WorkTogether(PagingMemory& memory);
  [[nodiscard]] bool WorkInOrder(PagingMemory& memory);

  const paging::View view_;
  const PagingPlan plan_;
  Random random_;
  std::vector<uint32_t> goal_;  // granules
  size_t used_ = 0;             // granules of the goal
  paging::Need need_ = paging::Need::kRead;
  paging::Ticket ticket_{};
  uint32_t next_ = 0;  // where a sequential goal starts
  uint32_t last_used_ = 0;
  uint64_t goals_reached_ = 0;
};

}  // namespace verbena::sim
