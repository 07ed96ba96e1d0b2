#include "ibverbs/open_contexts.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "ibverbs/log.h"
#include "ibverbs/stats.h"

namespace verbena::ibverbs {
namespace {

// Never destroyed: other objects that end with the program may still close their contexts.
struct Registry {
  Mutex mutex;
  std::vector<Context*> contexts VERBENA_GUARDED_BY(mutex);
  bool budget_is_claimed VERBENA_GUARDED_BY(mutex) = false;
  bool tells VERBENA_GUARDED_BY(mutex) = false;
  DeviceCounters closed VERBENA_GUARDED_BY(mutex);  // of contexts that were closed
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

void AddTo(DeviceCounters& sum, const Context& context) {
  if (const auto counters = context.handle.Query()) ibverbs::Add(sum, *counters);
}

void Tell() {
  Registry& registry = TheRegistry();
  const MutexLock lock(registry.mutex);
  DeviceCounters sum = registry.closed;
  for (const Context* context : registry.contexts) AddTo(sum, *context);
  LogAlways("counters:\n" + InWords(sum));
}

}  // namespace

void OpenContexts::Add(Context& context) {
  Registry& registry = TheRegistry();
  const MutexLock lock(registry.mutex);
  registry.contexts.push_back(&context);
  if (context.settings.stats && !registry.tells) registry.tells = std::atexit(Tell) == 0;
}

bool OpenContexts::Release(Context& context) {
  Registry& registry = TheRegistry();
  const MutexLock lock(registry.mutex);
  if (--context.references != 0) return false;
  std::erase(registry.contexts, &context);
  if (registry.tells) AddTo(registry.closed, context);
  return true;
}

bool OpenContexts::ClaimBudget() {
  Registry& registry = TheRegistry();
  const MutexLock lock(registry.mutex);
  return !std::exchange(registry.budget_is_claimed, true);
}

void OpenContexts::ReturnBudget() {
  Registry& registry = TheRegistry();
  const MutexLock lock(registry.mutex);
  registry.budget_is_claimed = false;
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
