#pragma once

#include "ibverbs/objects.h"

namespace verbena::ibverbs {

// The contexts that this process has open. C has no other place where an import could find one, or
// the end of the program their counters.
//
// Thread rule: any thread.
class OpenContexts {
 public:
  // From the first one on whose settings ask for it, counters are told when the program ends.
  static void Add(Context& context);
  // One reference less; true if it was the last, and nobody finds the context any more.
  [[nodiscard]] static bool Release(Context& context);

  // A process has one memory budget, and the first context that wants it has it until it gives it
  // back. True if it is the caller's now. Regions of others may lie on its memory, as on any; were
  // there two such contexts, each might wait for the other.
  [[nodiscard]] static bool ClaimBudget();
  static void ReturnBudget();

  // The one whose cmd_fd is the same file as this one, with one reference more; null if it is of
  // another process, or none.
  [[nodiscard]] static Context* Import(int cmd_fd);
};

}  // namespace verbena::ibverbs
