#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verbena/strong_id.h"

namespace verbena::paging {

// Names a request. The requester chooses it, and the answer has it.
using Ticket = StrongId<struct TicketTag, uint64_t>;

// Consecutive granules.
struct Run {
  uint32_t first = 0;
  uint32_t count = 1;

  [[nodiscard]] constexpr uint64_t end() const { return uint64_t{first} + count; }
  friend constexpr bool operator==(const Run&, const Run&) = default;
};

// The two mappings of the memory: that of the program, and that of the adapter.
enum class View : uint8_t { kCpu, kAdapter };
enum class Need : uint8_t { kRead, kWrite };

// What the executor has to do. It performs a list of actions in order, and before the next input.
// Only kWrite and kRead continue in the background; they end with an input for each granule.
enum class Verb : uint8_t {
  kUnmap,       // unmap `run` in `view`, before this returns
  kWrite,       // store the contents; ends with WriteDone for each. Keeps the memory until then
  kRead,        // allocate memory for `run`, read the contents into it; ends with ReadDone for each
  kDrop,        // free the memory of `run`
  kMakeZero,    // allocate memory for `run`, filled with zeros
  kMap,         // map `run` in `view`, writable or not; it may be mapped already
  kForget,      // free the stored copies of `run`, which are stale
  kReady,       // report to the owner of `ticket`: its first run.count granules are resident
  kRefused,     // report to the owner of `ticket`: the request fails with `error`
  kSwappedOut,  // report to the owner of `ticket`: run.count granules of its run are swapped out
  kReport,      // report the state of the store to the operator
};

enum class RequestError : uint8_t {
  kBroken,  // the first granule has lost its contents
  kLimit,   // no memory, because nothing can be written to the store; or too many tickets
};

enum class StoreReport : uint8_t { kFull, kFailing, kWell };

struct Action {
  Verb verb = Verb::kReport;
  Run run = {};              // all but kRefused and kReport
  View view = View::kCpu;    // kMap and kUnmap
  bool is_writable = false;  // kMap
  Ticket ticket = {};        // kReady, kRefused and kSwappedOut
  RequestError error = {};   // kRefused
  StoreReport report = {};   // kReport

  friend bool operator==(const Action&, const Action&) = default;
};

// For traces and tests: "map 5+2 cpu writable".
[[nodiscard]] std::string ToString(const Action& action);

// Actions in order. An action that continues the last one is merged with it, so that the executor
// needs one call for many granules. For the same reason some actions are moved in front of the last
// one: see MayPassLast. A value type; keeps its capacity when cleared.
class ActionList {
 public:
  void Add(const Action& action) {
    if (MayPassLast(action)) {
      const Action last = actions_.back();
      actions_.pop_back();
      Append(action);
      actions_.push_back(last);
    } else {
      Append(action);
    }
  }
  void Clear() { actions_.clear(); }

  [[nodiscard]] bool empty() const { return actions_.empty(); }
  [[nodiscard]] auto begin() const { return actions_.begin(); }
  [[nodiscard]] auto end() const { return actions_.end(); }

 private:
  // A drop and a read: their granules differ, because a granule that is being read is not dropped.
  // Unmaps of two views: granules that leave together are each unmapped in one and then the other.
  [[nodiscard]] bool MayPassLast(const Action& action) const {
    if (actions_.empty()) return false;
    const Action& last = actions_.back();
    if (action.verb == Verb::kDrop) return last.verb == Verb::kRead;
    return action.verb == Verb::kUnmap && last.verb == Verb::kUnmap && action.view != last.view &&
           actions_.size() > 1 && Continues(actions_[actions_.size() - 2], action);
  }

  void Append(const Action& action) {
    if (!actions_.empty() && Continues(actions_.back(), action)) {
      actions_.back().run.count += action.run.count;
    } else {
      actions_.push_back(action);
    }
  }

  // A ticket, a refusal and a report each stand alone.
  [[nodiscard]] static bool Continues(Action last, const Action& action) {
    if (action.verb >= Verb::kReady || last.run.end() != action.run.first) return false;
    last.run = action.run;
    return last == action;
  }

  std::vector<Action> actions_;
};

}  // namespace verbena::paging
