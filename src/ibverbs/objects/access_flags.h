#pragma once

#include <infiniband/verbs.h>

#include "verbena/access.h"

namespace verbena::ibverbs {

// Flags and rights with the same meaning. Local reading has no flag, because every region has it.
inline constexpr struct {
  ibv_access_flags flag;
  Access access;
} kAccessFlags[] = {
    {IBV_ACCESS_LOCAL_WRITE, Access::kLocalWrite},
    {IBV_ACCESS_REMOTE_WRITE, Access::kRemoteWrite},
    {IBV_ACCESS_REMOTE_READ, Access::kRemoteRead},
    {IBV_ACCESS_REMOTE_ATOMIC, Access::kRemoteAtomic},
    {IBV_ACCESS_MW_BIND, Access::kWindowBind},
};

// The rights of IBV_ACCESS_*; other flags are ignored.
[[nodiscard]] constexpr Access ToAccess(unsigned flags) {
  Access access = Access::kNone;
  for (const auto& row : kAccessFlags) {
    if ((flags & row.flag) != 0) access = access | row.access;
  }
  return access;
}

[[nodiscard]] constexpr unsigned ToAccessFlags(Access access) {
  unsigned flags = 0;
  for (const auto& row : kAccessFlags) {
    if (access.Has(row.access)) flags |= row.flag;
  }
  return flags;
}

}  // namespace verbena::ibverbs
