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
// needs one call for many granules. For the same reason a drop is moved in front of a read before
// it: their granules differ, because a granule that is being read is not dropped. A value type;
// keeps its capacity when cleared.
class ActionList {
 public:
  void Add(const Action& action) {
    if (action.verb == Verb::kDrop && !actions_.empty() && actions_.back().verb == Verb::kRead) {
      const Action reading = actions_.back();
      actions_.pop_back();
      Append(action);
      actions_.push_back(reading);
    } else {
      Append(action);
    }
  }
  void Clear() { actions_.clear(); }

  [[nodiscard]] bool empty() const { return actions_.empty(); }
  [[nodiscard]] auto begin() const { return actions_.begin(); }
  [[nodiscard]] auto end() const { return actions_.end(); }

 private:
  void Append(const Action& action) {
    if (!actions_.empty() && Continues(action)) {
      actions_.back().run.count += action.run.count;
    } else {
      actions_.push_back(action);
    }
  }

  // A ticket, a refusal and a report each stand alone.
  [[nodiscard]] bool Continues(const Action& action) const {
    if (action.verb >= Verb::kReady) return false;
    Action last = actions_.back();
    if (last.run.end() != action.run.first) return false;
    last.run = action.run;
    return last == action;
  }

  std::vector<Action> actions_;
};

}  // namespace verbena::paging
