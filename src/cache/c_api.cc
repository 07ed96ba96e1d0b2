// verbena_cache.h: the same for C. No exception leaves it.

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "base/result.h"
#include "cache/core.h"
#include "verbena/registration_cache.h"
#include "verbena/verbena_cache.h"

struct verbena_cache {
  verbena::RegistrationCache cache;
};

namespace verbena::cache {
namespace {

constexpr std::pair<int, Access> kRights[] = {
    {VERBENA_CACHE_LOCAL_WRITE, Access::kLocalWrite},
    {VERBENA_CACHE_REMOTE_WRITE, Access::kRemoteWrite},
    {VERBENA_CACHE_REMOTE_READ, Access::kRemoteRead},
    {VERBENA_CACHE_REMOTE_ATOMIC, Access::kRemoteAtomic},
    {VERBENA_CACHE_MW_BIND, Access::kWindowBind},
};

// Unknown bits have no right that they could stand for.
bool HasUnknown(int flags) {
  for (const auto& [flag, right] : kRights) flags &= ~flag;
  return flags != 0;
}
Access AccessOf(int flags) {
  Access access = Access::kLocalRead;
  for (const auto& [flag, right] : kRights) {
    if ((flags & flag) != 0) access = access | right;
  }
  return access;
}
int FlagsOf(Access access) {
  int flags = 0;
  for (const auto& [flag, right] : kRights) {
    if (access.Has(right)) flags |= flag;
  }
  return flags;
}

int NumberOf(const Error& error) {
  if (error.os_error != 0) return error.os_error;
  switch (error.code) {
    case ErrorCode::kInvalid:
      return EINVAL;
    case ErrorCode::kLimit:
    case ErrorCode::kOverflow:
      return ENOMEM;
    case ErrorCode::kInUse:
      return EBUSY;
    case ErrorCode::kNotPermitted:
    case ErrorCode::kForked:
      return EPERM;
    case ErrorCode::kNotSupported:
      return EOPNOTSUPP;
    case ErrorCode::kSystem:
      return EIO;
  }
  return EIO;
}

verbena_cache_keys KeysOf(const CachedKeys& keys) {
  return {keys.object, keys.l_key.value(), keys.r_key.value()};
}
CachedKeys KeysOf(const verbena_cache_keys& keys) {
  return {.object = keys.object, .l_key = Key(keys.lkey), .r_key = Key(keys.rkey)};
}

class CBackend final : public RegistrationBackend {
 public:
  explicit CBackend(const verbena_cache_backend& calls) : calls_(calls) {}

  [[nodiscard]] bool follows_mappings() const override { return calls_.follows_mappings != 0; }
  [[nodiscard]] ErrorOr<CachedKeys> Register(MemoryRange range, Access access) override {
    verbena_cache_keys keys{};
    const int error = calls_.reg(calls_.argument, reinterpret_cast<void*>(range.address),
                                 range.length, FlagsOf(access), &keys);
    if (error != 0) return Refused(error);
    return KeysOf(keys);
  }
  void Deregister(const CachedKeys& keys) override {
    const verbena_cache_keys theirs = KeysOf(keys);
    calls_.dereg(calls_.argument, &theirs);
  }
  [[nodiscard]] ErrorOr<CachedKeys> Rekey(const CachedKeys& keys, Access access) override {
    if (calls_.rekey == nullptr) return Fail(Error{.code = ErrorCode::kNotSupported});
    verbena_cache_keys theirs = KeysOf(keys);
    const int error = calls_.rekey(calls_.argument, &theirs, FlagsOf(access));
    if (error != 0) return Refused(error);
    return KeysOf(theirs);
  }

 private:
  static Unexpected<Error> Refused(int error) {
    return Fail(Error{.code = ErrorCode::kSystem, .text = "refused", .os_error = error});
  }

  const verbena_cache_backend calls_;
};

CacheOptions OptionsOf(const verbena_cache_options& options) {
  CacheOptions made;
  made.entries_max = options.entries_max;
  made.bytes_max = options.bytes_max;
  made.age_max = std::chrono::nanoseconds(options.age_max_ns);
  made.release_immediately = options.release_immediately != 0;
  if (options.keep_released_remote_keys != 0) {
    made.released_remote_key = ReleasedRemoteKey::kKept;
  }
  made.exclusive = options.exclusive != 0;
  made.use_userfaultfd = options.use_userfaultfd != 0;
  made.checks_pending_events = options.checks_pending_events != 0;
  made.announces = options.announces != 0;
  return made;
}

}  // namespace
}  // namespace verbena::cache

using namespace verbena::cache;  // NOLINT(google-build-using-namespace): the calls are global

void verbena_cache_default_options(verbena_cache_options* options) {
  const verbena::CacheOptions defaults;
  *options = {};
  options->entries_max = defaults.entries_max;
  options->bytes_max = defaults.bytes_max;
  options->age_max_ns = static_cast<uint64_t>(defaults.age_max.count());
  options->use_userfaultfd = 1;
  options->checks_pending_events = 1;
}

int verbena_cache_create(const verbena_cache_backend* backend, const verbena_cache_options* options,
                         verbena_cache** cache) try {
  if (backend == nullptr || backend->reg == nullptr || backend->dereg == nullptr) return EINVAL;
  auto made = verbena::RegistrationCache::Create(
      std::make_unique<CBackend>(*backend),
      options != nullptr ? OptionsOf(*options) : verbena::CacheOptions{});
  if (!made) return NumberOf(made.error());
  *cache = new verbena_cache{std::move(*made)};
  return 0;
} catch (const std::exception&) {
  return ENOMEM;
}

void verbena_cache_destroy(verbena_cache* cache) { delete cache; }

int verbena_cache_acquire(verbena_cache* cache, const void* address, size_t length, int access,
                          verbena_cached_region* region) try {
  if (HasUnknown(access)) return EINVAL;
  auto acquired = cache->cache.Acquire(address, length, AccessOf(access));
  if (!acquired) return NumberOf(acquired.error());
  const verbena::CachedRegion::Parts parts = std::move(*acquired).Take();
  *region = {KeysOf(parts.keys), parts.number, parts.core, parts.shard};
  return 0;
} catch (const std::exception&) {
  return ENOMEM;
}

void verbena_cache_release(verbena_cached_region* region) {
  if (region->core == nullptr) return;
  static_cast<Core*>(std::exchange(region->core, nullptr))
      ->Release({region->number, region->shard});
}

void verbena_cache_announce(verbena_cache* cache, const void* address, size_t length) {
  cache->cache.Announce(address, length);
}

void verbena_cache_collect(verbena_cache* cache, int all) { cache->cache.Collect(all != 0); }

void verbena_cache_query(const verbena_cache* cache, verbena_cache_statistics* statistics) {
  const verbena::CacheStatistics seen = cache->cache.Query();
  *statistics = {seen.hits_fast, seen.hits_slow,   seen.misses,        seen.merges,  seen.changes,
                 seen.evictions, seen.expirations, seen.invalidations, seen.entries, seen.bytes};
}

size_t verbena_cache_list(const verbena_cache* cache, verbena_cache_entry* entries,
                          size_t room) try {
  const auto list = cache->cache.List();
  for (size_t i = 0; i < list.size() && i < room; ++i) {
    const verbena::CacheEntry& line = list[i];
    entries[i] = {line.number,        line.l_key.value(), line.r_key.value(), FlagsOf(line.access),
                  line.range.address, line.range.length,  line.handles,       NameOf(line.status)};
  }
  return list.size();
} catch (const std::exception&) {
  return 0;
}
