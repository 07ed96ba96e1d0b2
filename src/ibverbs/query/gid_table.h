#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "verbena/error.h"
#include "verbena/gid.h"

namespace verbena::ibverbs {

// The GIDs of the port by index. Programs remember indices, so these are stable: every query reads
// the addresses of the machine again. An address that goes away leaves its entry empty. An address
// that appears gets the entry that it had before, or a new one at the end.
//
// One table for all contexts of a process, since all see the same port. Thread rule: any thread.
class GidTable {
 public:
  // ibv_global_route::sgid_index has 8 bits.
  static constexpr size_t kEntriesMax = 256;

  using Entries = std::vector<std::optional<GidEntry>>;

  // The present entries; nullopt where the address is gone.
  [[nodiscard]] ErrorOr<Entries> Read();

  // The table length that queries return. Some remember it, so it leaves room for new addresses.
  [[nodiscard]] static size_t ShownLength(const Entries& entries);

  // The entries that are not empty.
  [[nodiscard]] static std::vector<GidEntry> Present(const Entries& entries);

  // Read with the addresses of the machine as an argument; public for tests.
  [[nodiscard]] Entries Merge(const std::vector<GidEntry>& present);

 private:
  struct Place {
    Gid gid;
    uint32_t interface_index = 0;
  };

  Mutex mutex_;
  std::vector<Place> places_ VERBENA_GUARDED_BY(mutex_);
};

// The table of the port.
[[nodiscard]] GidTable& TheGidTable();

}  // namespace verbena::ibverbs
