#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "paging/action.h"
#include "sim/paging/memory.h"
#include "sim/paging/plan.h"

namespace verbena::sim {

// A user of managed memory. A thread needs up to four granules together, wherever they are,
// and asks for them one fault at a time, as an instruction does. A queue pair needs a run, whose
// granules it uses one after the other, and asks for all that is left of it. One thread.
class PagingActor {
 public:
  PagingActor(paging::View view, const PagingPlan& plan, Random random)
      : view_(view), plan_(plan), random_(random) {}

  // Makes up its mind about what to do next.
  void ChooseGoal();
  // Uses what it can. False: it has to want something first.
  [[nodiscard]] bool Work(PagingMemory& memory);
  // What to want, after Work has said so.
  [[nodiscard]] PagingMemory::Wanted Missing(const PagingMemory& memory) const;

  void SetTicket(paging::Ticket ticket) { ticket_ = ticket; }
  void OnAnswer(const PagingMemory::Answer& answer);

  [[nodiscard]] paging::Ticket ticket() const { return ticket_; }
  [[nodiscard]] bool is_waiting() const { return ticket_ != paging::Ticket(); }
  [[nodiscard]] bool is_idle() const { return goal_.empty(); }
  // What it worked on last; 0: nothing new.
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
  size_t used_ = 0;             // of the goal
  paging::Need need_ = paging::Need::kRead;
  paging::Ticket ticket_{};
  uint32_t next_ = 0;  // of a sequence
  uint32_t last_used_ = 0;
  uint64_t goals_reached_ = 0;
};

}  // namespace verbena::sim
