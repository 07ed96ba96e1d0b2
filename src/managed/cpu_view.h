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

// A thread of the program has touched what it does not see, or not so, and waits.
struct CpuFault {
  uint32_t granule = 0;
  bool is_write = false;
};

// The program's view of managed memory, whose accesses can be caught and held up until the pager
// has done what they need. Begins with nothing to be seen. A thread that waits goes on when Map or
// Refuse was called for its granule, and faults again if that was not what it needs.
//
// One thread at a time, the pager's, which must never touch the view itself. The threads that
// fault are the program's, any number of them.
class CpuView {
 public:
  CpuView() = default;
  CpuView(const CpuView&) = delete;
  CpuView& operator=(const CpuView&) = delete;
  virtual ~CpuView() = default;

  // In effect when it returns. The contents stay.
  virtual void Unmap(paging::Run run) = 0;
  // Shows what is in memory, which must be there.
  virtual void Map(paging::Run run, bool is_writable) = 0;
  // Until Map or Unmap.
  virtual void Refuse(paging::Run run) = 0;
  // Threads that wait for these granules try again, and fault again if nothing has changed.
  virtual void Wake(paging::Run run) = 0;

  // Returns how many faults it put in front of `faults`; never waits. The same may come twice, and
  // one may be out of date: an answer by Map does no harm.
  [[nodiscard]] virtual size_t TakeFaults(std::span<CpuFault> faults) = 0;
  // Readable when there are faults to take.
  [[nodiscard]] virtual int fd() const = 0;
  // There are faults, or granules gone, that fd() shows no more.
  [[nodiscard]] virtual bool has_heard() const { return false; }

  // Granules that the program unmapped or moved away, with others between them perhaps: IsGone.
  // Nothing is to be seen there any more, and nothing can be shown.
  [[nodiscard]] virtual std::optional<paging::Run> TakeGone() { return std::nullopt; }
  // Any thread.
  [[nodiscard]] virtual bool IsGone(uint32_t /*granule*/) const { return false; }

  // From now on every access raises SIGSEGV, those that wait included. Nothing else may be called
  // afterwards.
  virtual void Stop() = 0;

  // How accesses are caught, in words for a report.
  [[nodiscard]] virtual const char* method() const = 0;
};

enum class CpuViewKind : uint8_t {
  kBest,  // userfaultfd if the system lets us have it, otherwise signals
  kUserfault,
  kSignal,
};

// Of `bytes`, which are mapped from a MemoryFile, begin at a multiple of the granule, and have not
// been touched.
[[nodiscard]] ErrorOr<std::unique_ptr<CpuView>> MakeCpuView(CpuViewKind kind,
                                                            std::span<std::byte> bytes,
                                                            PageShift granule);

// The smallest granule, `wished` or larger, with which protecting each granule in its own way needs
// no more than half of the mappings that the system lets a process have. Only the SignalView needs
// it: userfaultfd leaves the view one mapping. `budget` bounds what is in memory.
[[nodiscard]] PageShift GranuleFor(uint64_t size, uint64_t budget, PageShift wished,
                                   uint64_t mappings_max);

// vm.max_map_count, or its usual value if it cannot be read.
[[nodiscard]] uint64_t MappingsMax();

}  // namespace verbena::managed
