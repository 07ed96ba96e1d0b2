#pragma once

#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

// The contexts that this process has open. C has no other place where an import could find one.
//
// Thread rule: any thread.
class OpenContexts {
 public:
  // From the first one on whose settings ask for it, what the process counted is told when the
  // program ends: once, however many contexts share an adapter.
  static void Add(Context& context);
  // One reference less; true if it was the last, and the context cannot be found any more.
  [[nodiscard]] static bool Release(Context& context);

  // The one whose cmd_fd is the same file as this one, with one reference more; null if it is of
  // another process, or none.
  [[nodiscard]] static Context* Import(int cmd_fd);
};

}  // namespace verbena::ibverbs
