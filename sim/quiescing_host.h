#pragma once

#include <cstdint>

#include "adapter/control/guest_control.h"
#include "base/mutex.h"
#include "base/random.h"
#include "odp/takeover_memory.h"
#include "sim/endnode.h"
#include "sim/findings.h"

namespace verbena::sim {

// What the host has done to a region. A value type.
struct QuiesceCounters {
  uint64_t whole = 0;    // times that it was taken...
  uint64_t parts = 0;    // ...or a part of it
  uint64_t emptied = 0;  // of them, times that all of the memory had left
  uint64_t awaited = 0;  // of them, times that an access waited for it
};

// The host of an endnode: takes the memory of a region on managed memory away, all of it or a part,
// and gives it back, through the real GuestControl. Also its oracle: no page that is out comes back
// before its time. That no access is lost, and none touches a page that is out, the contents show.
// One thread.
class QuiescingHost {
 public:
  // Before the endnode's arena is made. `rate`: per step, of a thousand.
  QuiescingHost(Endnode& node, Random& random, uint32_t rate);
  QuiescingHost(const QuiescingHost&) = delete;
  QuiescingHost& operator=(const QuiescingHost&) = delete;

  // Before the pager runs. When it is calm, everything is given back and nothing taken.
  void Step(const odp::ManagedArena& arena, Key region, bool is_calm, Findings& findings);
  [[nodiscard]] const QuiesceCounters& counters() const { return counters_; }

  // For a host that a hypervisor instructs, in place of Step.
  [[nodiscard]] adapter::GuestControl& control() { return control_; }
  void Include(odp::ManagedArena* arena, uint64_t limit) { takeover_.Include(arena, limit); }

 private:
  void TakeEvents();
  void Take(const odp::ManagedArena& arena, Key region);
  void CheckOut(const odp::ManagedArena& arena, Findings& findings) const;

  Endnode& node_;
  Random random_;
  const uint32_t rate_;
  Mutex registering_;
  odp::TakeoverMemory takeover_;
  adapter::GuestControl control_;
  bool is_out_ = false;
  bool is_empty_ = false;  // all of it has left
  uint64_t first_page_ = 0;
  uint64_t page_count_ = 0;
  QuiesceCounters counters_;
};

}  // namespace verbena::sim
