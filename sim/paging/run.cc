#include "sim/paging/run.h"

#include <algorithm>

namespace verbena::sim {

using paging::Ticket;
using paging::View;

PagingRun::Result PagingRun::Run(const PagingPlan& plan, const Trace& trace) {
  return PagingRun(plan, trace).RunAll();
}

PagingRun::PagingRun(const PagingPlan& plan, const Trace& trace)
    : plan_(plan),
      trace_(trace),
      random_(plan.seed + 1),
      store_(plan, random_.Fork()),
      memory_(plan, store_, findings_),
      resident_set_(plan.granules, plan.options) {
  for (uint32_t i = 0; i < plan.threads + plan.queue_pairs; ++i) {
    const View view = i < plan.threads ? View::kCpu : View::kAdapter;
    actors_.emplace_back(view, plan, random_.Fork());
  }
}

PagingRun::Result PagingRun::RunAll() {
  for (uint32_t step = 0; step < plan_.steps && findings_.empty(); ++step) {
    Step();
    Disturb();
  }
  if (findings_.empty()) RunToTheEnd();
  Result result;
  result.failure = findings_.text();
  result.counters = resident_set_.counters();
  for (const PagingActor& actor : actors_) result.goals += actor.goals_reached();
  for (uint32_t i = 0; i < plan_.granules; ++i) lost_ += memory_.IsLost(i) ? 1 : 0;
  result.lost = lost_;
  result.reports = memory_.reports();
  result.digest = digest_;
  result.virtual_time = now_ - Time(Seconds(1));
  return result;
}

void PagingRun::Step() {
  Wait();
  EndStoreWork();
  if (now_ >= resident_set_.next_time()) {
    Note("time");
    resident_set_.OnTime(now_);
    CarryOut();
  }
  for (PagingActor& actor : actors_) {
    if (random_.Chance(1, 2)) Act(actor);
  }
  if (++turns_ % 32 == 0) Compare();
}

void PagingRun::Compare() {
  memory_.Compare(resident_set_);
  if (!resident_set_.IsConsistent()) findings_.Add("paging", "the resident set contradicts itself");
}

// Advances the time a little; when all actors wait, up to the next event.
void PagingRun::Wait() {
  const bool all_wait = std::all_of(actors_.begin(), actors_.end(), [&](const PagingActor& actor) {
    return actor.is_waiting() || (is_calm_ && actor.is_idle());
  });
  now_ += Nanoseconds(static_cast<int64_t>(1 + random_.Below(20'000)));
  if (!all_wait) return;
  const Time next = std::min(store_.next(), resident_set_.next_time());
  if (next != Time::Never()) {
    now_ = std::max(now_, next);
  } else if (memory_.unanswered() > 0) {
    findings_.Add("paging", "a ticket waits, and nothing will happen");
  }
}

// Those of neighbours that have ended with the same outcome may be one input, as after one
// transfer.
void PagingRun::EndStoreWork() {
  std::optional<PagingStore::Done> next = store_.TakeDone(now_);
  while (next) {
    const PagingStore::Done first = *next;
    paging::Run run{first.granule, 0};
    do {
      memory_.OnDone(*next, now_);
      ++run.count;
      next = store_.TakeDone(now_);
    } while (next && next->is_write == first.is_write && next->read == first.read &&
             next->write == first.write && next->granule == run.end() && random_.Chance(3, 4));
    EndStoreWork(first, run);
  }
}

void PagingRun::EndStoreWork(const PagingStore::Done& done, paging::Run run) {
  const std::string granules =
      std::to_string(run.first) + "+" + std::to_string(run.count - 1) + " outcome ";
  if (done.is_write) {
    Note("written " + granules + std::to_string(static_cast<int>(done.write)));
    resident_set_.WriteDone(run, done.write, now_);
  } else {
    Note("has read " + granules + std::to_string(static_cast<int>(done.read)));
    resident_set_.ReadDone(run, done.read, now_);
  }
  CarryOut();
  if (done.is_write) return;
  for (uint32_t i = 0; i < run.count; ++i) memory_.CheckLoss(run.first + i, resident_set_);
}

paging::Run PagingRun::SomeRun() {
  const auto first = static_cast<uint32_t>(random_.Below(plan_.granules));
  const uint64_t most = std::min<uint64_t>(plan_.granules - first, 8);
  return {first, static_cast<uint32_t>(1 + random_.Below(most))};
}

void PagingRun::Disturb() {
  if (random_.Chance(plan_.discards, 1000)) {
    const paging::Run run = SomeRun();
    Note("discard " + std::to_string(run.first) + "+" + std::to_string(run.count - 1));
    for (uint32_t i = 0; i < run.count; ++i) lost_ += memory_.IsLost(run.first + i) ? 1 : 0;
    memory_.Discard(run);
    resident_set_.Discard(run, now_);
    CarryOut();
  }
  if (random_.Chance(plan_.budgets, 1000)) {
    const uint32_t least = plan_.threads < 2 ? paging::kBudgetMin : 4 * paging::kBudgetMin;
    const auto budget = static_cast<uint32_t>(random_.Between(least, least + plan_.granules));
    Note("budget " + std::to_string(budget));
    memory_.SetBudget(budget);
    resident_set_.SetBudget(budget, now_);
    CarryOut();
  }
  if (random_.Chance(plan_.swap_outs, 1000)) {
    const paging::Run run = SomeRun();
    Note("swap out " + std::to_string(run.first) + "+" + std::to_string(run.count - 1));
    ++swap_outs_begun_;
    resident_set_.SwapIn(swap_out_, now_);
    CarryOut();
    swap_out_ = Ticket(++last_ticket_);
    resident_set_.SwapOut(swap_out_, run, now_);
    CarryOut();
  }
  if (random_.Chance(plan_.outages, 1000)) {
    const auto length = static_cast<int64_t>(random_.Below(random_.Chance(1, 4) ? 60'000 : 2'000));
    store_.FailUntil(now_ + Microseconds(length));
  }
}

void PagingRun::Act(PagingActor& actor) {
  if (actor.is_waiting()) return;
  if (actor.is_idle()) {
    if (is_calm_) return;
    actor.ChooseGoal();
  }
  if (!actor.Work(memory_)) return AskFor(actor);
  if (random_.Chance(plan_.hints, 1000)) resident_set_.Used({actor.last_used(), 1});
}

void PagingRun::AskFor(PagingActor& actor) {
  const PagingMemory::Wanted wanted = actor.Missing(memory_);
  const Ticket ticket(++last_ticket_);
  actor.SetTicket(ticket);
  memory_.ExpectAnswer(ticket, wanted);
  Note("want #" + std::to_string(last_ticket_) + " " + std::to_string(wanted.run.first) + "+" +
       std::to_string(wanted.run.count - 1) +
       (wanted.need == paging::Need::kWrite ? " to write" : " to read"));
  resident_set_.PageIn(ticket, wanted.run, wanted.need, wanted.view, now_);
  CarryOut();
}

void PagingRun::Note(const std::string& input) {
  if (trace_) trace_(verbena::ToString(now_ - Time()) + " " + input);
}

void PagingRun::CarryOut() {
  for (const paging::Action& action : resident_set_.actions()) {
    if (trace_) trace_("    " + paging::ToString(action));
    for (const uint64_t word : {uint64_t{static_cast<uint8_t>(action.verb)},
                                uint64_t{action.run.first}, uint64_t{action.run.count}}) {
      digest_ = (digest_ ^ word) * 0x100000001b3;
    }
  }
  memory_.CarryOut(resident_set_.actions(), now_);
  resident_set_.ClearActions();
  for (const auto& [ticket, answer] : memory_.TakeAnswers()) {
    for (PagingActor& actor : actors_) {
      if (actor.ticket() == ticket) actor.OnAnswer(answer);
    }
  }
}

bool PagingRun::IsStoreQuiet() const {
  return store_.next() == Time::Never() && resident_set_.next_time() == Time::Never();
}

bool PagingRun::IsQuiet() const {
  return memory_.unanswered() == 0 && IsStoreQuiet() &&
         std::all_of(actors_.begin(), actors_.end(),
                     [](const PagingActor& actor) { return actor.is_idle(); });
}

void PagingRun::RunToTheEnd() {
  constexpr uint32_t kTurnsMax = 20'000;
  is_calm_ = true;
  store_.CalmDown();
  uint32_t steps = 0;
  // A store that stays full is retried forever.
  const auto is_over = [&] { return plan_.stays_full ? memory_.unanswered() == 0 : IsQuiet(); };
  for (; steps < kTurnsMax && findings_.empty() && !is_over(); ++steps) Step();
  if (steps == kTurnsMax) findings_.Add("paging", "it does not end");
  if (!plan_.stays_full && memory_.swap_outs_ended() != swap_outs_begun_) {
    findings_.Add("paging", "granules that are to leave do not, and nothing is under way");
  }
  Compare();
  memory_.CheckKept();
  if (findings_.empty() && !plan_.stays_full) ReadEverything();
}

// Reads all granules as one queue pair, one after the other.
void PagingRun::ReadEverything() {
  for (uint32_t granule = 0; granule < plan_.granules && findings_.empty(); ++granule) {
    const Ticket ticket(++last_ticket_);
    memory_.ExpectAnswer(ticket, {{granule, 1}, paging::Need::kRead, View::kAdapter});
    Note("read all #" + std::to_string(last_ticket_) + " " + std::to_string(granule));
    resident_set_.PageIn(ticket, {granule, 1}, paging::Need::kRead, View::kAdapter, now_);
    CarryOut();
    for (int step = 0; memory_.unanswered() > 0 && step < 1000 && findings_.empty(); ++step) Step();
    if (memory_.unanswered() > 0) findings_.Add("paging", "not answered in the end");
    if (memory_.IsMapped(granule, View::kAdapter, paging::Need::kRead)) {
      memory_.Access(granule, paging::Need::kRead);
    } else if (!memory_.IsLost(granule)) {
      findings_.Add("paging", "not there in the end");
    }
  }
  while (findings_.empty() && !IsStoreQuiet()) Step();
  const bool fits = memory_.in_memory() <= resident_set_.budget();
  if (findings_.empty() && !fits) findings_.Add("paging", "beyond the budget in the end");
}

}  // namespace verbena::sim
