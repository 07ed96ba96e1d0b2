#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "cache/entry.h"
#include "cache/eviction.h"
#include "cache/hit.h"
#include "cache/overlaps.h"
#include "cache/sync.h"
#include "verbena/memory_events.h"
#include "verbena/registration_cache.h"

namespace verbena::cache {

// Where a core hears of memory that is given up: the backend's source, one of its own, or none.
struct EventSource {
  MemoryEvents* shared = nullptr;
  std::unique_ptr<MemoryEvents> own = {};

  [[nodiscard]] MemoryEvents* get() const { return own != nullptr ? own.get() : shared; }
};

// The table of registrations, and all that is done to it.
//
// An acquisition is a hit (hit.h), or takes the slow path: under the mutex it plans what to do,
// outside of it the backend does that, and under the mutex again the result is published. An entry
// is kChanging meanwhile: no other thread touches it, except to note that its memory was given up.
//
// The mutex is never held while the backend or the system is called, but for the allocation of map
// nodes; the reader of the events never takes it. So it does not matter what a thread that holds it
// waits for.
//
// Thread rule: any thread, except for the destructor. In a child of a fork nothing is touched.
class Core {
 public:
  using NowFunction = Time (*)();

  // Throws std::bad_alloc.
  Core(std::unique_ptr<RegistrationBackend> backend, const CacheOptions& options,
       EventSource source, NowFunction now);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  // Throws std::bad_alloc for the text of an error.
  [[nodiscard]] ErrorOr<Hit> Acquire(const RegistrationRequest& request) {
    if (const auto hit = TryHit(request)) [[likely]] {
      return *hit;
    }
    return AcquireSlowly(request);
  }
  // The two halves of Acquire, for a caller that has no use for an ErrorOr where there is no error.
  [[nodiscard, gnu::always_inline]] std::optional<Hit> TryHit(const RegistrationRequest& request) {
    if (IsPending()) [[unlikely]] {
      return std::nullopt;
    }
    return FindHit(tables_, request, [this](EntryNumber number) { ReleaseIfLast(number); });
  }
  ErrorOr<Hit> AcquireSlowly(const RegistrationRequest& request) VERBENA_EXCLUDES(mutex_);

  // An entry that has one handle is never kLive, and no other thread ends it. Whether it has one is
  // looked at before the reference is dropped: afterwards the number may be another entry's.
  void Release(Hit hit) {
    const Entry& entry = tables_.entries[hit.number];
    const bool is_live = entry.state.load(std::memory_order_relaxed) == RegistrationState::kLive;
    const bool is_only_handle = !is_live && entry.has_one_handle;
    tables_.references.Drop(hit.number, hit.shard);
    if (is_only_handle) [[unlikely]] {
      ReleaseSlowly(hit.number, true);
    } else {
      ReleaseIfLast(hit.number);
    }
  }
  // Of an entry that the caller has a reference to.
  [[nodiscard]] const CachedKeys& KeysOf(EntryNumber number) const {
    return tables_.entries[number].keys;
  }

  // Of an entry that the caller has a reference to: nothing finds it any more.
  void Discard(EntryNumber number) VERBENA_EXCLUDES(mutex_);
  void Announce(Interval bytes) { tables_.gate.OnGivenUp(bytes.first, bytes.last); }
  void Collect(bool all) VERBENA_EXCLUDES(mutex_);
  // Deregisters all that is not in use, and what is in use with its last release. False if there is
  // such: then the core must stay.
  [[nodiscard]] bool Shut() VERBENA_EXCLUDES(mutex_);

  [[nodiscard]] CacheStatistics Query() const VERBENA_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<CacheEntry> List() const VERBENA_EXCLUDES(mutex_);
  [[nodiscard]] bool has_events() const { return is_listening_; }
  [[nodiscard]] bool follows_mappings() const { return follows_mappings_; }
  // Recomputes the sums, and compares the tables with each other.
  [[nodiscard]] bool IsConsistent() const VERBENA_EXCLUDES(mutex_);

 private:
  // What a slow acquisition does next.
  struct Plan {
    enum class Kind : uint8_t {
      kHit,
      kChange,
      kRegister,
      kAgain,
      kFull,
      kTooManyHandles,
      kNoMemory,
    };
    Kind kind = Kind::kFull;
    Hit hit = {};            // kHit
    EntryNumber number = 0;  // kChange, kRegister
    Access access = {};
    // kRegister.
    bool is_merged = false;   // more than what was asked for
    bool is_reported = true;  // see Attempt
  };
  // What it does not try any more, because the backend has refused it; and whether all that had
  // changed by its beginning is known.
  struct Attempt {
    bool merges = true;
    bool changes = true;
    bool is_reported = true;
  };
  // Entries that are kChanging and about to be deregistered, linked by Entry::next.
  class Doomed;

  // Before the gate is looked at: see FindHit.
  [[nodiscard]] bool IsPending() const { return checks_events_ && source_.get()->IsPending(); }
  // Nothing that was registered before is trusted otherwise.
  [[nodiscard]] bool IsQuiet() const { return !IsPending() && tables_.gate.is_open(); }

  void ReleaseIfLast(EntryNumber number) {
    const RegistrationState state = tables_.entries[number].state.load(std::memory_order_seq_cst);
    if (state != RegistrationState::kLive) [[unlikely]] {
      ReleaseSlowly(number, false);
    }
  }

  // What a backend throws is an error as well: the entry is kChanging, and must not stay so.
  template <class Fn>
  static ErrorOr<CachedKeys> CallBackend(Fn fn) noexcept {
    try {
      return fn();
    } catch (...) {
      return tl::unexpected(Error{.code = ErrorCode::kLimit, .text = "no memory"});
    }
  }

  // core_acquire.cc
  Plan MakePlan(const RegistrationRequest& request, const Attempt& attempt, Doomed& doomed)
      VERBENA_REQUIRES(mutex_);
  std::optional<EntryNumber> FindLive(const RegistrationRequest& request) VERBENA_REQUIRES(mutex_);
  std::optional<Plan> PlanRevival(const RegistrationRequest& request, const Attempt& attempt)
      VERBENA_REQUIRES(mutex_);
  std::optional<Plan> PlanChange(const RegistrationRequest& request) VERBENA_REQUIRES(mutex_);
  Plan PlanRegister(const RegistrationRequest& request, const Attempt& attempt, Doomed& doomed)
      VERBENA_REQUIRES(mutex_);
  RegistrationRequest ExtentOf(const RegistrationRequest& request, bool merges)
      VERBENA_REQUIRES(mutex_);
  ErrorOr<Hit> Register(const RegistrationRequest& request, const Plan& plan)
      VERBENA_EXCLUDES(mutex_);
  ErrorOr<Hit> Change(const RegistrationRequest& request, const Plan& plan)
      VERBENA_EXCLUDES(mutex_);
  Hit Publish(const RegistrationRequest& request, EntryNumber number, bool is_kept, Doomed& doomed)
      VERBENA_REQUIRES(mutex_);
  std::optional<Hit> Reference(EntryNumber number) VERBENA_REQUIRES(mutex_);
  bool Watch(Interval bytes);

  // core_collect.cc
  void ApplyEvents(Doomed& doomed) VERBENA_REQUIRES(mutex_);
  void WaitForReader() VERBENA_EXCLUDES(mutex_);
  void Invalidate(Interval bytes, Doomed& doomed) VERBENA_REQUIRES(mutex_);
  void Detach(EntryNumber number, Doomed& doomed) VERBENA_REQUIRES(mutex_);
  void Doom(EntryNumber number, Doomed& doomed) VERBENA_REQUIRES(mutex_);
  bool Evict(Doomed& doomed) VERBENA_REQUIRES(mutex_);
  void ExpireSome(Doomed& doomed) VERBENA_REQUIRES(mutex_);
  void Expire(EntryNumber first, EntryNumber end, Doomed& doomed) VERBENA_REQUIRES(mutex_);
  bool HasExpired(EntryNumber number, Time now) VERBENA_REQUIRES(mutex_);
  void DetachAll(Doomed& doomed) VERBENA_REQUIRES(mutex_);
  void Dispose(Doomed& doomed) VERBENA_EXCLUDES(mutex_);
  void ReleaseSlowly(EntryNumber number, bool is_only_handle) VERBENA_EXCLUDES(mutex_);
  void Park(EntryNumber number) VERBENA_EXCLUDES(mutex_);
  std::optional<EntryNumber> TakeNumber() VERBENA_REQUIRES(mutex_);
  void GiveNumber(EntryNumber number) VERBENA_REQUIRES(mutex_);

  [[nodiscard]] Entry& At(EntryNumber number) { return tables_.entries[number]; }
  [[nodiscard]] RegistrationState StateOf(EntryNumber number) const {
    return tables_.entries[number].state.load(std::memory_order_relaxed);
  }
  void SetState(EntryNumber number, RegistrationState state) {
    At(number).state.store(state, std::memory_order_seq_cst);
  }
  // Makes a live entry kChanging, unless it is in use.
  bool Close(EntryNumber number) VERBENA_REQUIRES(mutex_);
  // Whether the entry has one handle at a time.
  [[nodiscard]] bool is_exclusive(const RegistrationRequest& request) const {
    return options_.exclusive ||
           (request.is_exact() && options_.released_remote_key == ReleasedRemoteKey::kRefused);
  }
  static uint64_t LengthOf(Interval bytes) { return bytes.last - bytes.first + 1; }

  const std::unique_ptr<RegistrationBackend> backend_;
  const CacheOptions options_;
  const EventSource source_;
  const NowFunction now_;
  const bool follows_mappings_;
  // Constant after the constructor.
  bool is_listening_ = false;
  bool checks_events_ = false;

  HitTables tables_;

  mutable Mutex mutex_;
  Overlaps overlaps_ VERBENA_GUARDED_BY(mutex_);              // all but kFree and kDetached
  RegistrationEviction eviction_ VERBENA_GUARDED_BY(mutex_);  // kLive and kParked
  uint32_t first_free_ VERBENA_GUARDED_BY(mutex_) = 0;        // plus 1; linked by Entry::next
  uint32_t number_count_ VERBENA_GUARDED_BY(mutex_) = 0;      // numbers above were never used
  uint32_t taken_ VERBENA_GUARDED_BY(mutex_) = 0;             // of these, not free
  uint32_t hand_ VERBENA_GUARDED_BY(mutex_) = 0;              // where ExpireSome goes on
  Time sweep_began_ VERBENA_GUARDED_BY(mutex_);
  Time now_seen_ VERBENA_GUARDED_BY(mutex_);  // when entries were last looked at for their age
  bool is_shut_ VERBENA_GUARDED_BY(mutex_) = false;
  bool can_rekey_ VERBENA_GUARDED_BY(mutex_) = true;            // until the backend says otherwise
  CacheStatistics statistics_ VERBENA_GUARDED_BY(mutex_);       // hits_fast: see Query
  uint64_t acquisitions_ended_ VERBENA_GUARDED_BY(mutex_) = 0;  // of entries that are free again
  uint64_t acquisitions_slow_ VERBENA_GUARDED_BY(mutex_) = 0;
};

class Core::Doomed {
 public:
  [[nodiscard]] bool empty() const { return first_ == 0; }
  void Push(Entry& entry, EntryNumber number) {
    entry.next = first_;
    first_ = number + 1;
  }
  EntryNumber Pop(const LazyArray<Entry>& entries) {
    const EntryNumber number = first_ - 1;
    first_ = entries[number].next;
    return number;
  }

 private:
  uint32_t first_ = 0;  // plus 1
};

}  // namespace verbena::cache
