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

// Bytes from the first one wanted that are there, at least one; or why there are none.
using Answer = Result<uint64_t, paging::RequestError>;

// What the adapter and the operator hear. All on the pager thread, which holds no lock meanwhile
// and waits: they must not wait for a thread that touches the program's view, nor touch it.
struct ArenaCallbacks {
  // To Want. The bytes may be taken away again at once: who enters them into tables does it before
  // this returns, so that `unmap_adapter` finds them there.
  std::function<void(uint64_t ticket, const Answer& answer)> on_ready;
  // The adapter touches no byte of these, which are in its view, from when this returns until it
  // wanted them again.
  std::function<void(std::span<const std::span<std::byte>> ranges)> unmap_adapter;
  // To SwapOut: so many bytes from the first on have left memory. May be empty.
  std::function<void(uint64_t ticket, uint64_t bytes)> on_swapped_out = {};
  // The swap store is full, or fails, or does neither any more. May be empty.
  std::function<void(paging::StoreReport report)> on_store = {};
  // The program has unmapped or moved away [first, last], addresses in the adapter's view, which is
  // no use of from now on. Only of adopted memory. May be empty.
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
  // Memory of the program that is to become the arena's, whole granules: the view is made aside,
  // until Arena::PutInPlace. `size` and `view` are of no account then. See Takeover.
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
  // How the pager is to behave; its budget is taken from the one above.
  paging::ResidentSetOptions paging = {};
  // How long a thread of the program waits for room in a full swap file before its access is
  // SIGSEGV. Longer than the limit of the adapter, because an access to memory cannot return an
  // error.
  Duration program_patience = Seconds(30);
  // Where what is in memory is counted, too. May be nullptr; else it outlives the arena.
  ResidentSum* counted_in = nullptr;
  // The clock that all times are of.
  std::function<Time()> now = {};
  // False: the arena has no pager thread, and its owner calls Arena::RunOnce, so that a simulation
  // decides when the pager runs.
  bool has_thread = true;
  // Puts something between the store and its file. For tests.
  std::function<std::unique_ptr<SwapFile>(std::unique_ptr<SwapFile>)> wrap_swap_file = {};
};

// Where a granule is, for pictures.
enum class Residency : uint8_t {
  kAbsent,  // all zero, and nowhere
  kInMemory,
  kSwapped,
  kBroken,  // lost: the store did not give it back, or not as it was
};

// How many granules of a part of an arena are where.
struct ResidencyCell {
  uint32_t absent = 0;
  uint32_t in_memory = 0;
  uint32_t swapped = 0;
  uint32_t broken = 0;
};

// The state of an arena at some moment of the last step of its pager.
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
