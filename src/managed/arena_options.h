#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/page.h"
#include "base/result.h"
#include "base/time.h"
#include "managed/cpu_view.h"
#include "managed/swap_store.h"
#include "paging/action.h"
#include "paging/counters.h"
#include "paging/options.h"

namespace verbena::managed {

// The number of resident bytes from the first requested one on, at least 1; or why there are none.
using Answer = Result<uint64_t, paging::RequestError>;

// Called on the pager thread, which holds no lock. A callback must not touch the program's view,
// nor wait for a thread that does: that thread may be waiting for the pager.
struct ArenaCallbacks {
  // The answer to PageIn. The bytes can be evicted as soon as this returns, so a callee that enters
  // them into tables does it before, and `unmap_adapter` removes them again.
  std::function<void(uint64_t ticket, const Answer& answer)> on_ready;
  // Once this has returned, the adapter touches no byte of these ranges of its view until it has
  // requested them again.
  std::function<void(std::span<const std::span<std::byte>> ranges)> unmap_adapter;
  // The answer to SwapOut: how many bytes, from the first on, have left memory. May be empty.
  std::function<void(uint64_t ticket, uint64_t bytes)> on_swapped_out = {};
  // The swap store is full, or fails, or works again. May be empty.
  std::function<void(paging::StoreReport report)> on_store = {};
  // The program has unmapped or moved memory that was taken over. [first, last] are its addresses
  // in the adapter's view, which must not be used any longer. May be empty.
  std::function<void(const std::byte* first, const std::byte* last)> on_gone = {};
};

// How much memory several arenas use together, as of the last step of each one's pager.
class ResidentSum {
 public:
  void Change(uint64_t from, uint64_t to) {
    const uint64_t now = now_.fetch_add(to - from) + to - from;
    for (uint64_t peak = peak_; now > peak && !peak_.compare_exchange_weak(peak, now);) {
    }
  }
  [[nodiscard]] uint64_t now() const { return now_; }
  [[nodiscard]] uint64_t peak() const { return peak_; }

 private:
  std::atomic<uint64_t> now_ = 0;
  std::atomic<uint64_t> peak_ = 0;
};

struct ArenaOptions {
  uint64_t size = 0;
  // Memory of the program that the arena takes over, in whole granules. The view is mapped
  // elsewhere until Arena::PutInPlace; `size` and `view` are ignored. See Takeover.
  std::span<std::byte> takes_over = {};
  // Bytes in memory at a time. At least 16 granules.
  uint64_t budget = 0;
  // 4 KiB to 2 MiB. Larger where the view needs it (GranuleFor).
  PageShift granule{12};
  CpuViewKind view = CpuViewKind::kBest;
  // Directory or file: OpenSwap.
  std::string swap = "/tmp";
  uint64_t swap_bytes_max = ~uint64_t{0};
  bool compress = true;
  // The budget in here is replaced by the one above.
  paging::ResidentSetOptions paging = {};
  // How long a thread of the program waits for room in a full swap file before its access raises
  // SIGSEGV. Longer than the limit of the adapter, because an access to memory cannot return an
  // error.
  Duration program_patience = Seconds(30);
  // A sum to which the resident bytes are added. Can be nullptr; otherwise it outlives the arena.
  ResidentSum* counted_in = nullptr;
  // The clock of the arena.
  std::function<Time()> now = {};
  // False: the arena has no pager thread, and its owner calls Arena::RunOnce, so that a simulation
  // decides when the pager runs.
  bool has_thread = true;
  // For tests: wraps the swap file, to inject delays and errors.
  std::function<std::unique_ptr<SwapFile>(std::unique_ptr<SwapFile>)> wrap_swap_file = {};
};

// Where a granule is, for diagrams.
enum class Residency : uint8_t {
  kAbsent,  // all zero, and stored nowhere
  kInMemory,
  kSwapped,
  kBroken,  // lost: the store could not read it, or read other bytes
};

// Counts of granules in a part of an arena.
struct ResidencyCell {
  uint32_t absent = 0;
  uint32_t in_memory = 0;
  uint32_t swapped = 0;
  uint32_t broken = 0;
};

// The state of an arena during the last step of its pager.
struct ArenaReport {
  uint64_t budget_bytes = 0;
  uint64_t granule_bytes = 0;
  uint64_t cpu_faults = 0;
  uint64_t cpu_refused = 0;  // accesses that became SIGSEGV
  paging::Counters paging;
  SwapCounters swap;
  paging::StoreReport store = paging::StoreReport::kWell;
  const char* view_method = "";
  const char* swap_method = "";
};

}  // namespace verbena::managed
