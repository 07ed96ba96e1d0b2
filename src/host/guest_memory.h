#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "host/guest_account.h"
#include "host/ids.h"

namespace verbena::host {

// What the agent needs of the process that it is in: its managed memory, and the regions on it. The
// process has an adapter behind it; tests have a fake.
//
// Calls are made on the agent's thread, and must not wait for a page of the memory.
class GuestMemory {
 public:
  struct File {
    uint32_t number = 0;  // never used again for another
    int fd = -1;          // stays open until the next call of Files
    uint64_t bytes = 0;
  };
  struct Region {
    RegionNumber number;
    uint64_t bytes = 0;
    uint64_t out = 0;         // bytes of it that are out
    uint32_t word = 0;        // the place of its current-I/O word, counted from 1; 0: it has none
    bool is_awaited = false;  // an access waits for it
  };
  struct Event {
    enum class Kind : uint8_t {
      kQuiesced,  // its memory was given back
      kInterest,  // an access waits for it
      kReset,     // the program has changed or ended it, and it is in use again
    };
    Kind kind = Kind::kQuiesced;
    RegionNumber region;
  };
  struct Use {
    GuestUse use;
    uint64_t resident = 0;  // bytes
    uint64_t swapped = 0;   // bytes
    StageCounts faults = {};
  };

  virtual ~GuestMemory() = default;

  // How much may be in memory from now on. Takes effect soon.
  [[nodiscard]] virtual ErrorOr<void> SetBudget(uint64_t bytes) = 0;
  [[nodiscard]] virtual Use QueryUse() = 0;
  [[nodiscard]] virtual std::vector<File> Files() = 0;
  [[nodiscard]] virtual std::vector<Region> Regions() = 0;
  // The file of the current-I/O words; -1 while there is none. It stays the same.
  [[nodiscard]] virtual int WordsFile() { return -1; }

  // Ends with a kQuiesced event, when what is under way on the region has ended, and its memory is
  // given back; with `force`, it does not wait for what is under way.
  virtual void Quiesce(RegionNumber region, RegionPart part, bool force) = 0;
  // In effect when it returns.
  virtual void Resume(RegionNumber region) = 0;
  // The broker that asked is gone: regions that are not out yet are in use again.
  virtual void Withdraw() {}

  // When to take events if event_fd() shows none.
  [[nodiscard]] virtual Time next_time() { return Time::Never(); }
  // Readable when there are events.
  [[nodiscard]] virtual int event_fd() const = 0;
  [[nodiscard]] virtual std::vector<Event> TakeEvents() = 0;
};

}  // namespace verbena::host
