#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verbena/access.h"
#include "verbena/error.h"
#include "verbena/memory_events.h"
#include "verbena/numbers.h"

namespace verbena {

class ProtectionDomain;
namespace cache {
class Core;
}

// Bytes of this process.
struct MemoryRange {
  uint64_t address = 0;
  uint64_t length = 0;

  friend bool operator==(const MemoryRange&, const MemoryRange&) = default;
};

// What a backend has registered.
struct CachedKeys {
  void* object = nullptr;  // the backend's own: an ibv_mr, say
  Key l_key = {};
  Key r_key = {};
};

// How a cache registers memory. Called by the threads that acquire and release, under no lock of
// the cache, by several threads at a time. Must not call the cache.
class RegistrationBackend {
 public:
  virtual ~RegistrationBackend() = default;

  // Whether a key stands for addresses, so that an access always meets what is mapped there then.
  // Without this, a registration stands for the pages that were there when it was made; the cache
  // keeps it unused only as long as it would hear that they have gone.
  [[nodiscard]] virtual bool follows_mappings() const = 0;
  [[nodiscard]] virtual ErrorOr<CachedKeys> Register(MemoryRange range, Access access) = 0;
  virtual void Deregister(const CachedKeys& keys) = 0;

  // Gives a registration other rights and other keys; the old keys are refused from then on. A
  // backend that cannot do that answers kNotSupported, and nothing has changed.
  [[nodiscard]] virtual ErrorOr<CachedKeys> Rekey(const CachedKeys& /*keys*/, Access /*access*/) {
    return tl::unexpected(Error{.code = ErrorCode::kNotSupported});
  }
  // The one source of events of this memory; nullptr if the cache shall open its own.
  [[nodiscard]] virtual MemoryEvents* events() { return nullptr; }
};

// Registers by MemoryRegion::Register. CachedKeys::object is a MemoryRegion. REQUIRES: the domain
// outlives the cache, and its handles.
[[nodiscard]] std::unique_ptr<RegistrationBackend> BackendOf(const ProtectionDomain& domain);

// What becomes of an R_Key when its handle is released.
enum class ReleasedRemoteKey : uint8_t {
  kRefused,  // peers cannot use it any more. Every handle with remote rights has a key of its own
  kKept,     // peers can use it until the registration is collected; the program trusts them
};

// The limits of a cache. They hold for what is not in use: handles are never refused because of
// bytes_max, and what is in use is never deregistered.
struct CacheOptions {
  uint32_t entries_max = 65'536;           // registrations at a time; 256 bytes each
  uint64_t bytes_max = uint64_t{4} << 30;  // registered bytes: pinned, where the adapter pins
  std::chrono::nanoseconds age_max = std::chrono::minutes(10);  // unused for longer: collected
  // Deregisters with the last release, as without a cache.
  bool release_immediately = false;
  ReleasedRemoteKey released_remote_key = ReleasedRemoteKey::kRefused;
  // Every handle has a registration of its own, of exactly its bytes, as ibv_reg_mr returns it.
  // Those that were released serve the next request for the same bytes. A released key is refused
  // if the backend can rekey, also an L_Key.
  bool exclusive = false;
  // Whether the cache asks the system to report memory that is given up (userfaultfd), if the
  // backend has no source of its own. Without, a registration that does not follow the mappings is
  // kept only if `announces` is set.
  bool use_userfaultfd = true;
  // Whether each hit asks the system if a munmap is under way that it has not reported yet: a
  // system call of 0.1 us, where registrations do not follow the mappings. Without, memory that one
  // thread maps while another is still in the munmap of the same addresses may be taken for what
  // was there before. A program with one thread, or whose threads do not reuse each other's
  // addresses, can do without.
  bool checks_pending_events = true;
  // The program promises to call Announce before it gives up memory that it has acquired once.
  bool announces = false;
};

struct CacheStatistics {
  uint64_t hits_fast = 0;      // without a lock
  uint64_t hits_slow = 0;      // with one, the first time at a place
  uint64_t misses = 0;         // had to register
  uint64_t merges = 0;         // registrations that a larger one has replaced
  uint64_t changes = 0;        // other rights or keys, in place
  uint64_t evictions = 0;      // collected because of a limit
  uint64_t expirations = 0;    // collected because of their age
  uint64_t invalidations = 0;  // their memory was given up
  uint64_t entries = 0;        // now
  uint64_t bytes = 0;          // now

  friend bool operator==(const CacheStatistics&, const CacheStatistics&) = default;
};

enum class CacheEntryStatus : uint8_t {
  kKept,      // registered, can be found
  kInUse,     // the same, and handles have it
  kDetached,  // handles have it, cannot be found any more, and is deregistered by the last release
  kParked,    // registered without remote rights until it is wanted again
  kChanging,  // a thread registers, changes or deregisters it
};
const char* NameOf(CacheEntryStatus status);  // "in use"

// A line of the table.
struct CacheEntry {
  uint32_t number = 0;
  MemoryRange range = {};
  Access access = {};
  Key l_key = {};
  Key r_key = {};
  CacheEntryStatus status = CacheEntryStatus::kKept;
  uint64_t handles = 0;
};
// "17  0x7f0012340000  8192  lkey 0x1234  rkey 0x1234  in use  2  local read, local write"
std::string ToString(const CacheEntry& entry);
std::string ToString(const CacheStatistics& statistics);

// Registered bytes, until it is released or destroyed. Can be moved, also to another thread.
class CachedRegion {
 public:
  CachedRegion() = default;
  CachedRegion(CachedRegion&& from) noexcept { *this = std::move(from); }
  CachedRegion& operator=(CachedRegion&& from) noexcept {
    std::swap(core_, from.core_);
    std::swap(keys_, from.keys_);
    std::swap(number_, from.number_);
    std::swap(shard_, from.shard_);
    return *this;
  }
  ~CachedRegion() {
    if (core_ != nullptr) Release();
  }

  [[nodiscard]] explicit operator bool() const { return core_ != nullptr; }
  // For the bytes that were asked for, and for addresses of the program: keys are not zero-based.
  [[nodiscard]] Key l_key() const { return keys_.l_key; }
  // For peers. Meaningful if the handle was acquired with remote rights.
  [[nodiscard]] Key r_key() const { return keys_.r_key; }
  [[nodiscard]] void* object() const { return keys_.object; }
  [[nodiscard]] uint32_t number() const { return number_; }  // of its line in the table

  void Release();
  // The registration is not kept when it is released: for a caller that has changed it.
  void Discard();

  // For the C interface, which has no destructors: the handle is empty afterwards.
  struct Parts {
    cache::Core* core;
    CachedKeys keys;
    uint32_t number;
    uint32_t shard;
  };
  [[nodiscard]] Parts Take() && { return {std::exchange(core_, nullptr), keys_, number_, shard_}; }

 private:
  friend class RegistrationCache;

  void Set(cache::Core* core, const CachedKeys& keys, uint32_t number, uint32_t shard) {
    core_ = core;
    keys_ = keys;
    number_ = number;
    shard_ = shard;
  }

  cache::Core* core_ = nullptr;
  CachedKeys keys_ = {};
  uint32_t number_ = 0;
  uint32_t shard_ = 0;
};

// Keeps memory registered after it was used, so that a program which registers a buffer for each
// transfer pays for it once. See docs/registration-cache.md for what it notices, and how.
//
// A request with local rights only is served by any registration that covers it with such rights,
// and registers whole pages. A request with remote rights gets a registration of exactly its bytes
// and rights, because its key opens all of them to a peer.
//
// After a fork, Acquire fails in the child with kForked.
//
// Thread rule: any thread. Handles may outlive the cache.
class RegistrationCache {
 public:
  [[nodiscard]] static ErrorOr<RegistrationCache> Create(
      std::unique_ptr<RegistrationBackend> backend, const CacheOptions& options = {});
  RegistrationCache() = default;
  RegistrationCache(RegistrationCache&& from) noexcept
      : core_(std::exchange(from.core_, nullptr)) {}
  RegistrationCache& operator=(RegistrationCache&& from) noexcept {
    std::swap(core_, from.core_);
    return *this;
  }
  ~RegistrationCache();

  [[nodiscard]] explicit operator bool() const { return core_ != nullptr; }

  // Fails as the backend does, or with kLimit if all entries are in use.
  [[nodiscard]] ErrorOr<CachedRegion> Acquire(const void* address, size_t length, Access access);

  // These bytes are given up, or replaced: what is registered over them is not found any more, from
  // the return of this call on. Cheap, allocates nothing and takes no lock: may be called from a
  // hook of an allocator.
  void Announce(const void* address, size_t length);

  // Deregisters what is not in use: what is too old, what has been given up; with `all`,
  // everything.
  void Collect(bool all = false);

  [[nodiscard]] CacheStatistics Query() const;
  [[nodiscard]] std::vector<CacheEntry> List() const;
  // Whether the cache hears of memory that is given up, and of which: one line for the user.
  [[nodiscard]] std::string Notices() const;

 private:
  explicit RegistrationCache(cache::Core* core) : core_(core) {}
  [[nodiscard, gnu::noinline]] ErrorOr<CachedRegion> AcquireSlowly(const void* address,
                                                                   size_t length, Access access);

  cache::Core* core_ = nullptr;  // deletes itself with the last handle
};

}  // namespace verbena
