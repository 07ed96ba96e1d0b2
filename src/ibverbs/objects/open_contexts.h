#pragma once

#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

// The contexts that this process has open, so that ibv_import_device can find one by its file.
//
// Thread rule: any thread.
class OpenContexts {
 public:
  static void Add(Context& context);
  // Drops a reference. True if it was the last: then an import does not find the context any more.
  [[nodiscard]] static bool Release(Context& context);

  // Adds a reference to the context whose cmd_fd is the same file as `cmd_fd`. Null if no context
  // of this process has that file.
  [[nodiscard]] static Context* Import(int cmd_fd);
};

}  // namespace verbena::ibverbs
