#pragma once

#include <compare>
#include <cstdint>

#include "base/error.h"
#include "verbena/access.h"

namespace verbena::host {

// A file of shared memory as a process presents it. Its identity is the kernel's: two descriptors
// are of one file if, and only if, these are the same while one of them is open.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;

  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

struct SharedFile {
  FileIdentity identity = {};
  uint64_t bytes = 0;
  bool is_writable = false;  // the descriptor is, so its holder can map it for writing

  // Whether an R_Key with these rights gives no more than the descriptor does.
  [[nodiscard]] bool Allows(Access access) const {
    return is_writable || !access.HasAny(Access::kRemoteWrite | Access::kRemoteAtomic);
  }
};

// Refuses what is no memory file: memfd_create, shm_open, a file of tmpfs or hugetlbfs.
[[nodiscard]] ErrorOr<SharedFile> InspectSharedFile(int fd);

}  // namespace verbena::host
