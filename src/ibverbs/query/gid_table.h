#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "verbena/error.h"
#include "verbena/gid.h"

namespace verbena::ibverbs {

// The GIDs of the port by their indices, which programs keep. The machine's addresses are read
// afresh with every query; one that goes leaves its place empty, and one that comes takes the
// place it had, or a new one at the end.
//
// There is one for all contexts of a process, as all see one port. Thread rule: any thread.
class GidTable {
 public:
  // How many indices a queue pair can name.
  static constexpr size_t kEntriesMax = 256;

  using Entries = std::vector<std::optional<GidEntry>>;

  // As it is now; nullopt where the address is gone.
  [[nodiscard]] ErrorOr<Entries> Read();

  // How long programs are told that it is. Some remember that, so there is room for more.
  [[nodiscard]] static size_t ShownLength(const Entries& entries);

  // Those that are there.
  [[nodiscard]] static std::vector<GidEntry> Present(const Entries& entries);

  // With the machine's addresses as an argument, for tests.
  [[nodiscard]] Entries Merge(const std::vector<GidEntry>& present);

 private:
  struct Place {
    Gid gid;
    uint32_t interface_index = 0;
  };

  Mutex mutex_;
  std::vector<Place> places_ VERBENA_GUARDED_BY(mutex_);
};

// That of the port.
[[nodiscard]] GidTable& TheGidTable();

}  // namespace verbena::ibverbs
