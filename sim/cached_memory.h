#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/random.h"
#include "queue/wqe.h"
#include "sim/endnode.h"
#include "sim/findings.h"
#include "sim/program_pages.h"
#include "sim/swarm.h"
#include "verbena/registration_cache.h"

namespace verbena::sim {

// What happened to such memory in a run. A value type.
struct CachedCounters {
  CacheStatistics cache;
  uint64_t replaced = 0;  // pages that the program has given up

  CachedCounters& operator+=(const CachedCounters& other) {
    cache.hits_fast += other.cache.hits_fast;
    cache.hits_slow += other.cache.hits_slow;
    cache.misses += other.cache.misses;
    cache.merges += other.cache.merges;
    cache.changes += other.cache.changes;
    cache.evictions += other.cache.evictions;
    cache.invalidations += other.cache.invalidations;
    replaced += other.replaced;
    return *this;
  }
};

// Memory of a program that registers a buffer for each operation, through the real registration
// cache, with the tables of a simulated adapter. The adapter has fixed pages: a registration stands
// for the frames that were mapped when it was made. All connections of the endnode use one cache.
//
// While an operation uses a page, the program leaves it alone. All other pages may be given up at
// any moment, also while the cache registers: then the bytes of an operation with a stale key go to
// or come from a frame that is not where its program believes, which the shadow of the frames, or
// the receiver of the message, notices. One thread.
class CachedMemory {
 public:
  CachedMemory(const Swarm& swarm, Endnode& node, Random& random, Findings& findings);
  CachedMemory(const CachedMemory&) = delete;
  CachedMemory& operator=(const CachedMemory&) = delete;

  [[nodiscard]] const Endnode& node() const { return node_; }

  // Takes bytes that no operation uses, and registers them; nullopt if there are none, or too many
  // registrations are in use. They are the operation's until End.
  struct Buffer {
    uint64_t address = 0;
    Key l_key = {};
    Key r_key = {};
    [[nodiscard]] Sge Bytes(uint64_t length) const {
      return {address, static_cast<uint32_t>(length), l_key};
    }
  };
  [[nodiscard]] std::optional<Buffer> Take(uint64_t id, uint64_t length, Access access);
  // Its contents, and what the operation may write there.
  void Store(const Buffer& buffer, std::span<const std::byte> bytes) {
    pages_.Store(buffer.address, bytes);
  }
  void Allow(uint64_t id, const Buffer& buffer, std::span<const std::byte> bytes) {
    pages_.Allow(id, buffer.address, bytes);
  }
  // Does nothing if the operation has no buffer here.
  void End(uint64_t id, bool well);

  void Step(bool is_calm);
  void Check() { pages_.Check(findings_); }
  // Nothing stays registered. REQUIRES: no operation has a buffer.
  void CheckEnd();

  [[nodiscard]] CachedCounters counters() const { return {cache_.Query(), pages_.replaced()}; }

 private:
  class Backend;
  struct Use {
    Interval bytes;
    CachedRegion region;
    bool is_remote = false;
  };

  static constexpr size_t kRecent = 6;

  [[nodiscard]] std::optional<Interval> Choose(uint64_t length);
  [[nodiscard]] std::optional<Interval> ChooseRecent(uint64_t length);
  [[nodiscard]] std::optional<Interval> ChooseNew(uint64_t length);
  void ReplaceSome(MemoryRange range);

  const Swarm swarm_;
  Endnode& node_;
  Random random_;
  Findings& findings_;
  ProgramPages pages_;
  RegistrationCache cache_;
  std::map<uint64_t, Use> uses_;
  std::deque<Interval> recent_;  // bytes that operations have used
};

}  // namespace verbena::sim
