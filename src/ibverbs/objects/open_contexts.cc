#include "ibverbs/objects/open_contexts.h"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "base/mutex.h"

namespace verbena::ibverbs {
namespace {

// Never destroyed: static destructors of the program may still close contexts.
struct Registry {
  Mutex mutex;
  std::vector<Context*> contexts VERBENA_GUARDED_BY(mutex);
};

Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

bool IsSameFile(int a, int b) {
  struct stat of_a = {};
  struct stat of_b = {};
  return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

}  // namespace

void OpenContexts::Add(Context& context) {
  Registry& registry = TheRegistry();
  const MutexLock lock(registry.mutex);
  registry.contexts.push_back(&context);
}

bool OpenContexts::Release(Context& context) {
  Registry& registry = TheRegistry();
  const MutexLock lock(registry.mutex);
  if (--context.references != 0) return false;
  std::erase(registry.contexts, &context);
  return true;
}

Context* OpenContexts::Import(int cmd_fd) {
  Registry& registry = TheRegistry();
  const MutexLock lock(registry.mutex);
  const auto found = std::ranges::find_if(registry.contexts, [&](const Context* context) {
    return IsSameFile(context->context.cmd_fd, cmd_fd);
  });
  if (found == registry.contexts.end()) return nullptr;
  ++(*found)->references;
  return *found;
}

}  // namespace verbena::ibverbs
