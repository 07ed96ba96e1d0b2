#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/lazy_array.h"
#include "base/time.h"
#include "managed/arena_options.h"
#include "managed/cpu_view.h"
#include "managed/fault_streams.h"
#include "managed/inbox.h"
#include "managed/memory_file.h"
#include "managed/swap_store.h"
#include "paging/resident_set.h"

namespace verbena::managed {

// Carries out what the pager decides: passes requests, faults, outcomes and time to the resident
// set, and executes the actions of the resident set in their order.
//
// A program thread that faults has no ticket of its own, so the granule serves as one. The executor
// requests a granule once, however many threads wait for it, and with it the next granules if the
// thread seems to walk. It refuses an access to a broken granule for good. If the resident set
// refuses an access for lack of memory, the thread goes on waiting and the executor requests the
// granule again, until the store has written nothing for program_patience. The operator can make
// room for the store meanwhile, and a program that stands still is better than one that is dead.
//
// Owned by the Arena and used by its pager thread alone; any thread can call residency(). Allocates
// nothing once its lists have reached their size: a program thread can fault in its allocator.
class Executor {
 public:
  struct Parts {
    MemoryFile& memory;
    CpuView& view;
    SwapStore& store;
  };
  Executor(const Parts& parts, const ArenaOptions& options, const ArenaCallbacks& callbacks);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Inputs. ServeStore comes last in a step: it submits the orders of the others.
  void Serve(const Request& request);
  void ServeFaults();
  void OnTime();
  void ServeStore();

  // When OnTime is due.
  [[nodiscard]] Time next_time() const;
  [[nodiscard]] ArenaReport report() const;

  // Any thread.
  [[nodiscard]] Residency residency(uint32_t granule) const {
    return residency_[granule].load(std::memory_order_relaxed);
  }

 private:
  // A page request of the adapter.
  struct AdapterRequest {
    uint64_t ticket = 0;
    uint64_t first_byte = 0;
    uint64_t length = 0;
  };
  // An order that the store had no room for.
  struct Delayed {
    uint32_t granule = 0;
    bool is_store = false;
  };

  void RequestForAdapter(const Request& request);
  void RequestForCpu(const CpuFault& fault);
  [[nodiscard]] paging::Run RunFor(const CpuFault& fault);
  [[nodiscard]] bool IsPending(uint32_t granule, bool is_write) const;
  void SetPending(paging::Run run, bool is_write, bool is_pending);
  void Discard(const Request& request);
  void Discard(paging::Run run);
  void SwapOut(const Request& request);
  [[nodiscard]] paging::Run WholeGranules(const Request& request) const;
  void OnSwappedOut(const paging::Action& action) const;
  void HoldProgram();
  void ServeGone(paging::Run among);
  void TakeOutcomes(std::span<const SwapOutcome> outcomes);

  void CarryOut();
  void CarryOut(const paging::Action& action);
  void Unmap(const paging::Action& action);
  void UnmapForAdapter();
  void Order(paging::Run run, bool is_store);
  [[nodiscard]] bool GiveOrder(const Delayed& order);
  void GiveDelayed();
  void Drop(paging::Run run);
  void Answer(const paging::Action& action);
  void AnswerCpu(const paging::Action& action);
  [[nodiscard]] bool MayProgramWait();
  void Mark(paging::Run run, Residency residency);

  MemoryFile& memory_;
  CpuView& view_;
  SwapStore& store_;
  const ArenaCallbacks callbacks_;
  const std::function<Time()> now_;
  paging::ResidentSet resident_set_;

  std::vector<AdapterRequest> adapter_requests_;  // by ticket of the resident set
  std::vector<uint32_t> free_requests_;
  FaultStreams fault_streams_;
  LazyArray<uint8_t> cpu_pending_;  // by granule: 1 read requested, 2 write requested
  std::vector<CpuFault> ask_again_;
  std::vector<CpuFault> asking_;
  Time ask_again_at_ = Time::Never();
  const Duration program_patience_;
  Time program_waits_since_ = Time::Never();   // the store has written nothing since
  std::vector<std::span<std::byte>> leaving_;  // not yet reported to the adapter
  std::vector<Delayed> delayed_;
  size_t delayed_done_ = 0;
  LazyArray<std::atomic<Residency>> residency_;
  bool holds_program_ = false;
  uint64_t cpu_faults_ = 0;
  uint64_t cpu_refused_ = 0;
  paging::StoreReport store_report_ = paging::StoreReport::kWell;
};

}  // namespace verbena::managed
