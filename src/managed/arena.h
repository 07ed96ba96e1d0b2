#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "managed/arena_options.h"
#include "managed/cpu_view.h"
#include "managed/executor.h"
#include "managed/inbox.h"
#include "managed/memory_file.h"
#include "managed/swap_store.h"

namespace verbena::managed {

// Memory that can be larger than its budget. The program uses bytes() like any other memory; the
// adapter requests bytes by PageIn and accesses them through adapter_base(). Granules beyond the
// budget are in a swap store, and are paged in when they are touched.
//
// If the store cannot read a granule, or reads other bytes than were stored, an access of the
// program to it raises SIGSEGV and a request of the adapter is refused. Other granules are not
// affected. While the store is full, granules that cannot be written stay in memory, and accesses
// that need memory wait.
//
// Any thread may call, except where a function forbids the thread of the callbacks. That is the
// pager, the arena's own thread, which must never wait for a thread that touches bytes(). With
// has_thread false there is no such thread: see RunOnce.
class Arena {
 public:
  // The callbacks may be called before this returns.
  [[nodiscard]] static ErrorOr<std::unique_ptr<Arena>> Make(const ArenaOptions& options,
                                                            const ArenaCallbacks& callbacks);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  // Threads that wait for bytes get SIGSEGV, and pending requests get no answer. Not from a
  // callback.
  ~Arena();

  // The size is rounded up to granules.
  [[nodiscard]] std::span<std::byte> bytes() const { return memory_->cpu_view(); }
  [[nodiscard]] std::byte* adapter_base() const { return memory_->adapter_view(); }
  [[nodiscard]] PageShift granule() const { return memory_->granule(); }

  // Requests [first_byte, first_byte + length) for the adapter; length >= 1. Answered by one
  // on_ready, for the whole range or its first part. Never waits. Callbacks may call it.
  void PageIn(uint64_t first_byte, uint64_t length, bool for_write, uint64_t ticket);
  // Granules that lie entirely in the range become zero.
  void Discard(uint64_t first_byte, uint64_t length);
  // Granules that lie entirely in the range are written to the store and leave memory, until they
  // are touched or requested again. Answered by one on_swapped_out, with fewer bytes only if the
  // store cannot write, or SwapIn comes first. Until then nothing is read ahead there.
  void SwapOut(uint64_t first_byte, uint64_t length, uint64_t ticket);
  // The range of that SwapOut is in use again. What has left comes when it is requested.
  void SwapIn(uint64_t ticket) { inbox_.Put({.kind = Request::Kind::kSwapIn, .ticket = ticket}); }
  // For an arena that takes over memory: the program's view replaces that memory, atomically for
  // all threads. Returns false, and sets errno, on failure.
  [[nodiscard]] bool PutInPlace() { return memory_->PutInPlace(); }
  // Unmaps all granules from the program's view; threads that touch it wait. The adapter's view
  // stays as it is. Takes effect before the next request is answered.
  void HoldProgram() { inbox_.Put({.kind = Request::Kind::kHoldProgram}); }
  // Wakes those threads, which retry the access: the view has been replaced by other memory.
  void LetProgramGo() { inbox_.Put({.kind = Request::Kind::kLetProgramGo}); }
  // Whether the program has unmapped the granule of this byte, or moved it away.
  [[nodiscard]] bool IsGone(uint64_t byte) const {
    return view_->IsGone(static_cast<uint32_t>(byte >> granule().value()));
  }
  // One step of the pager: serves all pending requests, faults and transfers, and calls the
  // callbacks. Never waits. REQUIRES: has_thread is false.
  void RunOnce();
  // Takes effect in the next step of the pager.
  void SetBudget(uint64_t bytes);

  [[nodiscard]] ArenaReport report() const VERBENA_EXCLUDES(mutex_);
  // The file that the memory is in, for a process that shares it.
  [[nodiscard]] int memory_fd() const { return memory_->fd(); }
  // Memory in use now: what the budget bounds.
  [[nodiscard]] uint64_t resident_bytes() const { return memory_->resident_bytes(); }
  // Where the granule of this byte is.
  [[nodiscard]] Residency residency(uint64_t byte) const {
    return executor_.residency(static_cast<uint32_t>(byte >> granule().value()));
  }
  // Counts of granules in `cells` parts of about the same size, for a diagram. Visits each granule.
  [[nodiscard]] std::vector<ResidencyCell> ResidencyMap(size_t cells) const;

 private:
  struct Parts {
    std::unique_ptr<MemoryFile> memory;
    std::unique_ptr<CpuView> view;
    std::unique_ptr<SwapStore> store;
    FileDescriptor signal;
  };
  [[nodiscard]] static ErrorOr<Parts> MakeMemory(const ArenaOptions& options);
  [[nodiscard]] static ErrorOr<Parts> MakeAside(const ArenaOptions& options);
  [[nodiscard]] static ErrorOr<std::unique_ptr<SwapStore>> MakeStore(const ArenaOptions& options,
                                                                     const MemoryFile& memory);

  Arena(Parts parts, const ArenaOptions& options, const ArenaCallbacks& callbacks);

  void CheckRange(uint64_t first_byte, uint64_t length) const;
  // Why the pager woke up. Ended transfers are not listed: each step asks the store for them.
  struct Awake {
    bool for_requests = false;
    bool for_faults = false;
  };
  void Run();
  // False if it is time to end.
  [[nodiscard]] bool Serve(Awake awake);
  [[nodiscard]] Awake Sleep() const;
  void Publish() VERBENA_EXCLUDES(mutex_);
  void Count(uint64_t resident);

  // Destroyed in reverse order: transfers of the store end before the memory is unmapped.
  const std::unique_ptr<MemoryFile> memory_;
  const std::unique_ptr<CpuView> view_;
  const std::unique_ptr<SwapStore> store_;
  const std::function<Time()> now_;
  ResidentSum* const counted_in_;
  Executor executor_;
  Inbox inbox_;
  std::vector<Request> requests_;  // used by the pager thread only
  uint64_t counted_ = 0;           // the same
  mutable Mutex mutex_;
  ArenaReport report_ VERBENA_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace verbena::managed
