#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verbena/strong_id.h"

namespace verbena::paging {

// Names a want; chosen by who wants, and handed back.
using Ticket = StrongId<struct TicketTag, uint64_t>;

// Granules side by side.
struct Run {
  uint32_t first = 0;
  uint32_t count = 1;

  [[nodiscard]] constexpr uint64_t end() const { return uint64_t{first} + count; }
  friend constexpr bool operator==(const Run&, const Run&) = default;
};

// Who sees the memory: the program through its own pointers, and the adapter.
enum class View : uint8_t { kCpu, kAdapter };
enum class Need : uint8_t { kRead, kWrite };

// What the executor has to do, in the order in which it is listed, and before the next input.
// Only kWrite and kRead go on afterwards; they end with an input of their own for each granule.
enum class Verb : uint8_t {
  kUnmap,       // `run` is no more to be seen in `view`, when this returns
  kWrite,       // store the contents -> WriteDone each. Until then the memory stays where it is
  kRead,        // memory for `run`, then the stored contents into it -> ReadDone each
  kDrop,        // give the memory of `run` back
  kMakeZero,    // memory for `run`, filled with zeros
  kMap,         // show `run` in `view`, writable or not, whether it was shown before or not
  kForget,      // the stored copies of `run` are stale, and their room is free
  kReady,       // tell the owner of `ticket`: the first run.count granules that it wanted are there
  kRefused,     // tell the owner of `ticket`: no, and `refusal` says why
  kSwappedOut,  // tell the owner of `ticket`: run.count granules of its run are out of memory
  kReport,      // tell the operator what has become of the store
};

enum class RequestError : uint8_t {
  kBroken,  // the first granule has lost its contents
  kLimit,   // the store takes nothing, and so there is no memory for it; or too many tickets
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

// Actions in order. What continues the last one is added to it, so that an executor that can do
// many granules by one call sees runs. For the same reason a drop passes the reading before it:
// they are of different granules, since what is being read is not dropped. A value type; keeps its
// memory when cleared.
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
