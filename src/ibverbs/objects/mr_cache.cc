#include "ibverbs/objects/mr_cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/variables.h"
#include "ibverbs/objects/cache_socket.h"
#include "ibverbs/objects/region_access.h"

namespace verbena::ibverbs {
namespace {

// The domains that have a cache, and what the caches before them have counted. Never destroyed: the
// counters are printed at exit.
struct ProcessCaches {
  const pid_t process = getpid();
  Mutex mutex;
  std::set<Pd*> domains VERBENA_GUARDED_BY(mutex);
  CacheStatistics ended VERBENA_GUARDED_BY(mutex);
};

ProcessCaches& TheCaches() {
  static auto* const caches = new ProcessCaches;
  return *caches;
}

void Add(CacheStatistics& sum, const CacheStatistics& of) {
  sum.hits_fast += of.hits_fast;
  sum.hits_slow += of.hits_slow;
  sum.misses += of.misses;
  sum.merges += of.merges;
  sum.changes += of.changes;
  sum.evictions += of.evictions;
  sum.expirations += of.expirations;
  sum.invalidations += of.invalidations;
  sum.entries += of.entries;
  sum.bytes += of.bytes;
}

// Not in a child of a fork, where another thread of the parent may seem to hold the mutex.
void PrintCounters() noexcept try {
  if (TheCaches().process != getpid()) return;
  LogAlways("registration cache:\n" + CacheReport(false));
} catch (const std::bad_alloc&) {
}

void PrintAtExit() {
  static std::atomic<bool> prints = false;
  if (!IsOn("VERBENA_STATS") || prints.exchange(true)) return;
  if (std::atexit(PrintCounters) != 0) prints = false;
}

}  // namespace

void OpenCache(Pd& pd, const Settings& settings) {
  if (settings.cache_bytes == 0) return;
  CacheOptions options;
  options.bytes_max = settings.cache_bytes;
  options.exclusive = true;
  auto made = RegistrationCache::Create(BackendOf(pd.handle), options);
  if (!made) return LogOnce("there is no registration cache: " + made.error().text);
  {
    ProcessCaches& all = TheCaches();
    const MutexLock lock(all.mutex);
    all.domains.insert(&pd);
  }
  pd.cache = std::move(*made);
  PrintAtExit();
  ServeCacheReports();
}

void CloseCache(Pd& pd) {
  if (!pd.cache) return;
  ProcessCaches& all = TheCaches();
  const MutexLock lock(all.mutex);
  if (all.domains.erase(&pd) == 1) Add(all.ended, pd.cache.Query());
  pd.cache = {};
}

bool IsCached(Pd& pd, const void* address, size_t length, uint64_t iova, unsigned flags) {
  constexpr unsigned kOther = IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND;
  return pd.registration_cache() && length > 0 && (flags & kOther) == 0 &&
         iova == reinterpret_cast<uintptr_t>(address) && RegionAccess(flags).has_value();
}

std::string CacheReport(bool with_tables) {
  ProcessCaches& all = TheCaches();
  const MutexLock lock(all.mutex);
  CacheStatistics sum = all.ended;
  std::string table;
  for (const Pd* const pd : all.domains) {
    Add(sum, pd->cache.Query());
    if (!with_tables) continue;
    for (const CacheEntry& entry : pd->cache.List()) table += ToString(entry) + "\n";
  }
  return ToString(sum) + table;
}

}  // namespace verbena::ibverbs
