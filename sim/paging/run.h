#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "paging/resident_set.h"
#include "sim/findings.h"
#include "sim/paging/actor.h"
#include "sim/paging/memory.h"
#include "sim/paging/plan.h"
#include "sim/paging/store.h"

namespace verbena::sim {

// One run of the real resident set on simulated memory and a simulated store, in virtual time. The
// seed determines all of it. In the first phase all the trouble of the plan happens. In the second
// nothing goes wrong (but a store can stay full): every ticket must be answered, and no contents
// may be lost. One thread.
class PagingRun {
 public:
  struct Result {
    std::string failure;  // empty: no finding
    paging::Counters counters;
    uint64_t goals = 0;  // reached
    uint64_t lost = 0;   // granules whose contents the store has lost
    uint32_t reports = 0;
    uint64_t digest = 0;  // of every action: two runs of one seed agree
    Duration virtual_time;
  };
  // Gets a line for each input and each action; may be empty.
  using Trace = std::function<void(const std::string&)>;

  static Result Run(const PagingPlan& plan, const Trace& trace);

 private:
  PagingRun(const PagingPlan& plan, const Trace& trace);

  Result RunAll();
  void Step();
  void Wait();
  void EndStoreWork();
  void EndStoreWork(const PagingStore::Done& done, paging::Run run);
  void Disturb();
  void Act(PagingActor& actor);
  void AskFor(PagingActor& actor);
  void RunToTheEnd();
  void ReadEverything();
  void Note(const std::string& input);
  void CarryOut();
  void Compare();
  [[nodiscard]] bool IsStoreQuiet() const;
  [[nodiscard]] bool IsQuiet() const;
  [[nodiscard]] paging::Run SomeRun();

  const PagingPlan plan_;
  const Trace trace_;
  Random random_;
  Findings findings_;
  PagingStore store_;
  PagingMemory memory_;
  paging::ResidentSet resident_set_;
  std::vector<PagingActor> actors_;
  Time now_ = Time(Seconds(1));
  uint64_t last_ticket_ = 0;
  uint64_t turns_ = 0;
  uint64_t lost_ = 0;
  uint64_t swap_outs_begun_ = 0;
  paging::Ticket swap_out_;  // the last one: its run comes back with the next
  uint64_t digest_ = 0;
  bool is_calm_ = false;
};

}  // namespace verbena::sim
