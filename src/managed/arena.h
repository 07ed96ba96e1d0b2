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

// Memory that may be larger than its budget of memory. The program uses bytes() like any other; the
// adapter asks for what it needs by Want and uses it through adapter_base(). What does not fit is
// in a swap store, and comes back when it is touched.
//
// An access of the program to bytes that the store has lost (it could not be read, or was not what
// was stored) raises SIGSEGV, and the adapter is refused; nothing else is lost with them. While the
// store takes nothing more, what cannot be written stays in memory, and accesses that need memory
// wait.
//
// Any thread may call, except from the callbacks' thread where said. Has one thread of its own, the
// pager, which must not be made to wait for a thread that touches bytes(); or none, if the options
// say so (RunOnce).
class Arena {
 public:
  // The callbacks may be called before this returns.
  [[nodiscard]] static ErrorOr<std::unique_ptr<Arena>> Make(const ArenaOptions& options,
                                                            const ArenaCallbacks& callbacks);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  // Threads that wait for bytes get SIGSEGV; wants that are not answered are not answered any more.
  // Not from a callback.
  ~Arena();

  // The size is rounded up to granules.
  [[nodiscard]] std::span<std::byte> bytes() const { return memory_->cpu_view(); }
  [[nodiscard]] std::byte* adapter_base() const { return memory_->adapter_view(); }
  [[nodiscard]] PageShift granule() const { return memory_->granule(); }

  // [first_byte, first_byte + length), at least a byte, are needed by the adapter. Ends with one
  // on_ready, for all of it or its first part. Never waits; also from callbacks.
  void PageIn(uint64_t first_byte, uint64_t length, bool for_write, uint64_t ticket);
  // The contents of the granules that lie in it whole are given up: zeros from now on.
  void Discard(uint64_t first_byte, uint64_t length);
  // The memory of the granules that lie in it whole is given back, and their contents are in the
  // store, until they are touched or wanted again. Ends with one on_swapped_out: with fewer bytes
  // only if the store takes nothing.
  void SwapOut(uint64_t first_byte, uint64_t length, uint64_t ticket);
  // Of an arena that adopts: the program's view replaces what is at its place, for all threads at
  // once. False, and errno, if it cannot be done.
  [[nodiscard]] bool PutInPlace() { return memory_->PutInPlace(); }
  // The program sees nothing from now on, and its threads wait. For the adapter nothing changes. In
  // effect before the next want is answered.
  void HoldProgram() { inbox_.Put({.kind = Request::Kind::kHoldProgram}); }
  // Those threads look again: something else is in the place of the view.
  void LetProgramGo() { inbox_.Put({.kind = Request::Kind::kLetProgramGo}); }
  // Whether the program has unmapped the granule of this byte, or moved it away.
  [[nodiscard]] bool IsGone(uint64_t byte) const {
    return view_->IsGone(static_cast<uint32_t>(byte >> granule().value()));
  }
  // One round of the pager: takes all that has come and does what follows from it, callbacks
  // included. Never waits. REQUIRES: the options gave it no thread.
  void RunOnce();
  // May be larger or smaller than before; takes effect soon.
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
  // The arena cut into so many parts of about the same size, for a picture. Looks at each granule.
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
  // What the pager was woken for. Whether transfers ended costs nothing to find out.
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

  // In the order in which they need each other: transfers of the store end before the memory goes.
  const std::unique_ptr<MemoryFile> memory_;
  const std::unique_ptr<CpuView> view_;
  const std::unique_ptr<SwapStore> store_;
  const std::function<Time()> now_;
  ResidentSum* const counted_in_;
  Executor executor_;
  Inbox inbox_;
  std::vector<Request> requests_;  // of the pager's, as is...
  uint64_t counted_ = 0;           // ...this
  mutable Mutex mutex_;
  ArenaReport report_ VERBENA_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace verbena::managed
