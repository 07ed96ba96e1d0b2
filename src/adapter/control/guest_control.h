#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "adapter/control/current_io_words.h"
#include "base/error.h"
#include "base/event_file.h"
#include "base/file_descriptor.h"
#include "base/interval_map.h"
#include "base/mutex.h"
#include "base/time.h"
#include "memory/spaces/current_io.h"
#include "odp/takeover_memory.h"
#include "verbena/advice.h"
#include "verbena/numbers.h"

namespace verbena::adapter {

class Engine;

// How far a region is from being swapped out.
enum class QuiesceState : uint8_t {
  kInUse,      // nothing was asked of it
  kQuiescing,  // it is to be swapped out, and operations on it are under way
  kQuiet,      // none are, and it may be swapped out
  kOut,        // its memory was taken away
};

// What a region is registered with, for the time when its memory is wanted elsewhere.
struct QuiesceTerms {
  bool has_word = false;          // the program counts its operations in a current-I/O word
  bool refuses_when_out = false;  // accesses are refused and do not wait
};

// A region on managed memory.
struct GuestRegion {
  Key id;  // its L_Key
  uint64_t bytes = 0;
  uint64_t resident = 0;              // of them, in memory...
  uint64_t swapped = 0;               // ...and in the swap file; the rest are zeros, and nowhere
  std::optional<uint32_t> word = {};  // its place in the current-I/O page
  QuiesceState state = QuiesceState::kInUse;
  uint64_t quiesced = 0;    // bytes of it that are quiesced or out
  bool is_awaited = false;  // an access waits for it: interest is registered
};

// What the host's agent hears of its own regions.
struct GuestEvent {
  enum class Kind : uint8_t {
    kQuiet,       // nothing is under way on a region that is to be swapped out
    kOverdue,     // the time for that is over: it may be swapped out by force
    kSwappedOut,  // the memory of a region was given back, `bytes` of it
    kAwaited,     // an access waits for a region that is quiesced or out
    kEnded,       // the program has ended or changed a region, which is therefore in use
  };
  Kind kind = Kind::kQuiet;
  Key region;
  uint64_t bytes = 0;
};

// The side of an adapter that the host's agent in a guest's process talks to: how much of its
// managed memory the process may have in memory, and which regions are quiesced and swapped out
// (docs/quiesce.md).
//
//   QuiesceRegion -> kQuiet, or later the event -> SwapOutRegion -> kSwappedOut ... SwapInRegion
//
// The agent waits on event_fd(), until next_time() at most, and then takes the events; none is
// delivered under a lock. Owned by the adapter. Thread rule: any thread, at any time; no call waits
// for a page.
class GuestControl {
 public:
  struct Parts {
    Engine& engine;
    Mutex& registering;
    odp::TakeoverMemory& takeover;  // guarded by `registering`
  };
  GuestControl(const Parts& parts, EventFile events);
  GuestControl(const GuestControl&) = delete;
  GuestControl& operator=(const GuestControl&) = delete;

  // --- The budget. ---

  // The memory budget of the process from now on: of the memory that it registers, where a budget
  // was there from the beginning, and of all its ManagedMemory. Takes effect soon. REFUSES what is
  // too little for the pieces of managed memory that there are.
  [[nodiscard]] ErrorOr<void> SetMemoryBudget(uint64_t bytes);
  [[nodiscard]] uint64_t memory_budget();
  // Managed memory of the process: what of it is in memory now, and how much there is.
  [[nodiscard]] uint64_t resident_bytes();
  [[nodiscard]] uint64_t managed_bytes();
  [[nodiscard]] odp::TakeoverMemory::Use QueryUse();
  // The files that it is in. Of those whose number is in `known` the descriptor is left out; the
  // others are the caller's, and outlive the memory.
  struct MemoryFile {
    uint32_t number = 0;
    uint64_t bytes = 0;
    FileDescriptor file;
  };
  [[nodiscard]] std::vector<MemoryFile> MemoryFiles(const std::set<uint32_t>& known);

  // --- Regions. ---

  // Without places, resident and swapped stay 0: to find out takes a look at each page, under the
  // engine's lock.
  [[nodiscard]] std::vector<GuestRegion> Regions(bool with_places = true);
  // The file of the current-I/O words, for the host; -1 while no region has one.
  [[nodiscard]] int current_io_fd() { return words_.fd(); }

  // The memory of the region, or of a part of it, is wanted: whole pages of it. From now on a
  // consumer that counts starts nothing on the region. kQuiet: it may be swapped out. kQuiescing:
  // kQuiet follows, or kOverdue after `patience`. REFUSES a region that is not in use.
  [[nodiscard]] ErrorOr<QuiesceState> QuiesceRegion(Key region, std::optional<Range> part,
                                                    Duration patience);
  // No access touches it from when this returns until it is swapped in, and kSwappedOut follows
  // when its memory has been given back. REFUSES a region that is not quiet, except by force:
  // operations that are under way then wait, or are refused if the region's terms say so.
  [[nodiscard]] ErrorOr<void> SwapOutRegion(Key region, bool by_force = false);
  // It is in use again, from whatever state, and what waited for it goes on in order. Its pages
  // come when they are accessed; with `bring`, as many as fit the budget come at once.
  [[nodiscard]] ErrorOr<void> SwapInRegion(Key region, bool bring = false);

  // Readable when there are events.
  [[nodiscard]] int event_fd() const { return events_.fd(); }
  [[nodiscard]] std::vector<GuestEvent> TakeEvents(Time now);
  // When to take events if event_fd() shows none: a region without a word becomes quiet without a
  // call, and a time may be over.
  [[nodiscard]] Time next_time();

  // --- For the program, by region. ---

  // nullptr: it has none.
  [[nodiscard]] memory::CurrentIo::Word* FindWord(Key region);
  // The "memory region quiesced" call.
  void OnQuiesced(Key region);
  // See CurrentIoWords. True, or false, for a region without a word.
  [[nodiscard]] bool WaitUntilResumed(Key region, Duration patience);
  [[nodiscard]] bool CallWhenResumed(Key region, std::function<void()> then);

  // --- For the adapter, when regions come and go. ---

  // Before it is registered: a word, if the terms say so.
  [[nodiscard]] ErrorOr<std::optional<uint32_t>> TakeWord(const QuiesceTerms& terms);
  void GiveWord(std::optional<uint32_t> word);
  void Attach(Key region, const QuiesceTerms& terms, std::optional<uint32_t> word);
  void Rekey(Key from, Key to);
  // A region that is quiesced or out is in use from now on, because the program changes it, or is
  // forgotten, because the program has ended it: then what waits for it is refused. Under the
  // engine's lock, so that nothing that waited goes on before the change.
  struct EndedQuiesce {
    bool was_quiesced = false;
    std::optional<uint32_t> word = {};
  };
  [[nodiscard]] EndedQuiesce EndQuiesce(Key region);
  [[nodiscard]] EndedQuiesce Forget(Key region);
  // Afterwards, without the lock: ends the quiesce of its word; kEnded if it was not in use.
  void Announce(Key region, const EndedQuiesce& ended);
  void Release(Key region);
  // From the arenas: on_swapped_out.
  void OnSwappedOut(uint64_t ticket, uint64_t bytes);
  // From page requests, under the engine's lock.
  void OnAwaited(Key region) { Raise({GuestEvent::Kind::kAwaited, region}); }

 private:
  struct Member {
    QuiesceTerms terms;
    std::optional<uint32_t> word;
  };
  struct Quiesced {
    odp::ManagedArena* arena = nullptr;
    Interval pages = {};  // offsets in the arena
    bool is_whole = false;
    QuiesceState state = QuiesceState::kQuiescing;
    Time overdue_at = Time::Never();
    uint64_t ticket = 0;  // of the arena
  };

  // Under the engine's lock, which the analysis cannot know here.
  [[nodiscard]] GuestRegion Describe(Key region);
  [[nodiscard]] Member MemberOf(Key region) const;
  [[nodiscard]] ErrorOr<Quiesced> Find(Key region, const std::optional<Range>& part) const;
  [[nodiscard]] bool IsQuiet(Key region) const;
  [[nodiscard]] bool HasLocalWork(Key region) const;
  void Update(Key region, Quiesced& quiesced, Time now);
  [[nodiscard]] ErrorOr<void> TakeMemory(Key region, Quiesced& quiesced);
  [[nodiscard]] std::optional<uint32_t> PutBack(Key region, bool bring);
  static void BringBack(const Quiesced& quiesced);
  void Raise(const GuestEvent& event);

  Engine& engine_;
  Mutex& registering_;
  odp::TakeoverMemory& takeover_;
  CurrentIoWords words_;

  // Under the engine's lock.
  std::unordered_map<Key, Member> members_;  // with terms of their own
  std::unordered_map<Key, Quiesced> quiesced_;
  uint64_t last_ticket_ = 0;

  Mutex events_mutex_;  // the last to be taken
  std::vector<GuestEvent> raised_ VERBENA_GUARDED_BY(events_mutex_);
  const EventFile events_;
};

}  // namespace verbena::adapter
