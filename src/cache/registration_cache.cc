#include "verbena/registration_cache.h"

#include <atomic>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/page_events.h"
#include "cache/core.h"

namespace verbena {
namespace {

Error InvalidError(const char* text) { return {.code = ErrorCode::kInvalid, .text = text}; }
Error NoMemoryError() { return {.code = ErrorCode::kLimit, .text = "out of memory"}; }

// The numbers of entries are 32 bits, and one less than the largest is stored.
constexpr uint32_t kEntriesMax = uint32_t{1} << 28;

// Cores whose handles outlived the cache: they must stay, since a handle may be released at any
// time.
struct Orphan {
  cache::Core* core;
  Orphan* next;
};
std::atomic<Orphan*> orphans = nullptr;

void KeepForEver(cache::Core* core) {
  auto* const orphan = new (std::nothrow) Orphan{core, orphans.load()};
  if (orphan == nullptr) return;
  while (!orphans.compare_exchange_weak(orphan->next, orphan)) {
  }
}

std::optional<Interval> IntervalOf(const void* address, size_t length) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  if (length == 0 || first + (length - 1) < first) return std::nullopt;
  return Interval{first, first + (length - 1)};
}

cache::EventSource SourceFor(RegistrationBackend& backend, const CacheOptions& options) {
  cache::EventSource source{.shared = backend.events()};
  if (source.shared != nullptr || backend.follows_mappings() || !options.use_userfaultfd ||
      options.release_immediately) {
    return source;
  }
  std::string why_not;
  source.own = PageEvents::Open(PageEvents::Scope::kPrivate, why_not);
  return source;
}

}  // namespace

ErrorOr<RegistrationCache> RegistrationCache::Create(std::unique_ptr<RegistrationBackend> backend,
                                                     const CacheOptions& options) try {
  if (backend == nullptr) return tl::unexpected(InvalidError("no backend"));
  if (options.entries_max == 0 || options.entries_max > kEntriesMax) {
    return tl::unexpected(InvalidError("CacheOptions::entries_max is 1 to 268,435,456"));
  }
  if (options.age_max.count() <= 0) {
    return tl::unexpected(InvalidError("CacheOptions::age_max must be positive"));
  }
  auto source = SourceFor(*backend, options);
  return RegistrationCache(new cache::Core(std::move(backend), options, std::move(source), &Now));
} catch (const std::bad_alloc&) {
  return tl::unexpected(NoMemoryError());
} catch (const std::exception& error) {
  return tl::unexpected(Error{ErrorCode::kSystem, error.what()});
}

RegistrationCache::~RegistrationCache() {
  if (core_ == nullptr) return;
  if (core_->Shut()) {
    delete core_;
  } else {
    KeepForEver(core_);
  }
}

// A hit, and nothing else, so that the compiler keeps all of it in registers.
ErrorOr<CachedRegion> RegistrationCache::Acquire(const void* address, size_t length,
                                                 Access access) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  const uintptr_t last = first + (length - 1);
  if (core_ != nullptr && length > 0 && last >= first) [[likely]] {
    if (const auto hit = core_->TryHit({{first, last}, access})) [[likely]] {
      ErrorOr<CachedRegion> region(tl::in_place);
      region->Set(core_, core_->KeysOf(hit->number), hit->number, hit->shard);
      return region;
    }
  }
  return AcquireSlowly(address, length, access);
}

ErrorOr<CachedRegion> RegistrationCache::AcquireSlowly(const void* address, size_t length,
                                                       Access access) try {
  if (core_ == nullptr) return tl::unexpected(InvalidError("the cache is empty"));
  const auto bytes = IntervalOf(address, length);
  if (!bytes) return tl::unexpected(InvalidError("no bytes, or beyond the last address"));
  const auto hit = core_->AcquireSlowly({*bytes, access});
  if (!hit) return tl::unexpected(hit.error());
  ErrorOr<CachedRegion> region(tl::in_place);
  region->Set(core_, core_->KeysOf(hit->number), hit->number, hit->shard);
  return region;
} catch (const std::bad_alloc&) {
  return tl::unexpected(NoMemoryError());
}

void CachedRegion::Release() {
  if (core_ == nullptr) return;
  std::exchange(core_, nullptr)->Release({number_, shard_});
}

void CachedRegion::Discard() {
  if (core_ != nullptr) core_->Discard(number_);
}

void RegistrationCache::Announce(const void* address, size_t length) {
  const auto bytes = IntervalOf(address, length);
  if (core_ != nullptr && bytes) core_->Announce(*bytes);
}

void RegistrationCache::Collect(bool all) {
  if (core_ != nullptr) core_->Collect(all);
}

CacheStatistics RegistrationCache::Query() const {
  return core_ != nullptr ? core_->Query() : CacheStatistics{};
}

std::vector<CacheEntry> RegistrationCache::List() const {
  return core_ != nullptr ? core_->List() : std::vector<CacheEntry>{};
}

std::string RegistrationCache::Notices() const {
  if (core_ == nullptr) return "nothing: the cache is empty";
  if (core_->follows_mappings()) {
    return core_->has_events()
               ? "keys follow the mappings; the kernel reports memory that is given up"
               : "keys follow the mappings, so nothing has to be noticed";
  }
  return core_->has_events() ? "the kernel reports private memory that is given up (userfaultfd); "
                               "other memory is not kept"
                             : "nothing: only what the program announces is kept";
}

}  // namespace verbena
