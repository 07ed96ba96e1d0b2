#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/lazy_array.h"
#include "cache/entry.h"
#include "cache/gate.h"
#include "cache/hints.h"
#include "cache/references.h"

namespace verbena::cache {

// All that a hit touches.
struct HitTables {
  explicit HitTables(size_t count) : entries(count), references(count), hints(count) {}

  Gate gate;
  LazyArray<Entry> entries;
  References references;
  Hints hints;
};

struct Hit {
  EntryNumber number;
  uint32_t shard;
};

// Counts a reference in the calling thread's shard if the entry can be found at this moment.
// Otherwise nothing is counted, but `on_missed` has to be called, which does what a release does: a
// release that took place meanwhile may have seen this reference, and left the rest to it.
template <class OnMissed>
[[nodiscard, gnu::always_inline]] inline bool TryReference(HitTables& tables,
                                                           const RegistrationRequest& request,
                                                           Hit at, OnMissed on_missed) {
  const Entry& entry = tables.entries[at.number];
  // Otherwise the processor would fetch it only after the addition, which waits for its own line.
  __builtin_prefetch(&entry);
  if (!tables.references.Add(at.number, at.shard)) return false;
  const bool is_live = entry.state.load(std::memory_order_seq_cst) == RegistrationState::kLive;
  if (is_live && entry.Serves(request)) [[likely]] {
    return true;
  }
  tables.references.Undo(at.number, at.shard);
  on_missed(at.number);
  return false;
}

// The whole of a hit: no lock, no system call, no allocation, and one write, to a word of the
// calling thread's own shard.
//
// Why an entry that is returned cannot go away, change, or be stale:
//
//  1. Reader and collector. A reader adds to a reference count R and then loads the state S. A
//     collector (under the mutex) stores to S that the entry is not kLive, and then loads each R.
//     All four are sequentially consistent. Should the collector see 0 in a shard, its load comes
//     before any later addition there, so the store to S comes before that reader's load of S: the
//     reader finds the entry not live, and takes its reference back. So a shard that was seen
//     at 0 has no handle and gets none; it does not matter that shards are looked at one by one. A
//     reference that is taken back looks like a release: if the collector saw it and gave up,
//     `on_missed` looks again.
//  2. The fields. They are written between the collector's last load and the next store of kLive,
//     and read between an addition that was followed by a load of kLive, and the subtraction. The
//     store of kLive that a reader has loaded comes after the writes; the collector's loads read
//     from subtractions that come after the reads. So no field is read while it is written, and a
//     number that was given to other memory meanwhile is recognised by Serves: hints need not be
//     right, and entries are never freed.
//  3. Memory that was given up. The gate is shut before a thread returns from munmap (the reader of
//     the events shuts it before it asks for the event that this thread waits for) or from
//     Announce, and opened after the entries over that memory have left kLive. So a thread that
//     acquires after that return finds the gate shut, or the entry not live. Another thread may map
//     memory at these addresses before that return, when the gate is still open: the caller has
//     asked MemoryEvents::IsPending before, which is true from before the addresses are free until
//     the reader, which has shut the gate, has the event.
template <class OnMissed>
[[nodiscard, gnu::always_inline]] inline std::optional<Hit> FindHit(
    HitTables& tables, const RegistrationRequest& request, OnMissed on_missed) {
  if (!tables.gate.is_open()) [[unlikely]] {
    return std::nullopt;
  }
  Hit hit{0, References::ThisShard()};
  const bool found = tables.hints.FindIf(request, [&](EntryNumber number) {
    hit.number = number;
    return TryReference(tables, request, hit, on_missed);
  });
  return found ? std::optional(hit) : std::nullopt;
}

}  // namespace verbena::cache
