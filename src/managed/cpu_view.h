#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/page.h"
#include "paging/action.h"

namespace verbena::managed {

// An access of the program to a granule that is not mapped, or a write to a read-only one. The
// thread waits.
struct CpuFault {
  uint32_t granule = 0;
  bool is_write = false;
};

// The program's view of managed memory. An access that faults is suspended until the pager has
// served it. Initially nothing is mapped. A waiting thread retries when Map or Refuse is called for
// its granule, and faults again if it needs other rights.
//
// Used by the pager thread alone, which must never touch the view itself. Any number of program
// threads can fault.
class CpuView {
 public:
  CpuView() = default;
  CpuView(const CpuView&) = delete;
  CpuView& operator=(const CpuView&) = delete;
  virtual ~CpuView() = default;

  // In effect when it returns. The contents of the granules are kept.
  virtual void Unmap(paging::Run run) = 0;
  // REQUIRES: the granules are in memory.
  virtual void Map(paging::Run run, bool is_writable) = 0;
  // Accesses raise SIGSEGV until Map or Unmap.
  virtual void Refuse(paging::Run run) = 0;
  // Threads that wait for these granules try again, and fault again if nothing has changed.
  virtual void Wake(paging::Run run) = 0;

  // Writes faults to the front of `faults` and returns how many; never waits. A fault can be
  // returned twice, or be out of date; Map is harmless for both.
  [[nodiscard]] virtual size_t TakeFaults(std::span<CpuFault> faults) = 0;
  // Readable when there are faults to take.
  [[nodiscard]] virtual int fd() const = 0;
  // Whether faults or unmapped granules have been read from fd() and not taken yet.
  [[nodiscard]] virtual bool has_heard() const { return false; }

  // A run that covers all granules which the program has unmapped or moved since the last call;
  // IsGone tells which granules of the run these are. They cannot be mapped again.
  [[nodiscard]] virtual std::optional<paging::Run> TakeGone() { return std::nullopt; }
  // Any thread.
  [[nodiscard]] virtual bool IsGone(uint32_t /*granule*/) const { return false; }

  // Makes every access raise SIGSEGV, also those that wait. The last call on this object.
  virtual void Stop() = 0;

  // How accesses are caught, in words for a report.
  [[nodiscard]] virtual const char* method() const = 0;
};

enum class CpuViewKind : uint8_t {
  kBest,  // userfaultfd if the system permits it, otherwise signals
  kUserfault,
  kSignal,
};

// REQUIRES: `bytes` are mapped from a MemoryFile, begin at a multiple of the granule, and have not
// been touched.
[[nodiscard]] ErrorOr<std::unique_ptr<CpuView>> MakeCpuView(CpuViewKind kind,
                                                            std::span<std::byte> bytes,
                                                            PageShift granule);

// The smallest granule, `wished` or larger, with which different rights for each granule need at
// most half of the mappings that a process can have. Only the SignalView needs it: with userfaultfd
// the view stays one mapping. `budget` bounds the number of resident granules.
[[nodiscard]] PageShift GranuleFor(uint64_t size, uint64_t budget, PageShift wished,
                                   uint64_t mappings_max);

// vm.max_map_count, or its usual value if it cannot be read.
[[nodiscard]] uint64_t MappingsMax();

}  // namespace verbena::managed
