#include "ibverbs/objects/region_access.h"

#include "ibverbs/objects/access_flags.h"

namespace verbena::ibverbs {
namespace {

constexpr unsigned kRemote =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr unsigned kRegion = IBV_ACCESS_LOCAL_WRITE | kRemote | IBV_ACCESS_MW_BIND |
                             IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;

// The access rights of `flags`; nullopt if a flag that is not optional is not in `known`.
std::optional<Access> Only(unsigned flags, unsigned known) {
  const unsigned required = flags & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE};
  if ((required & ~known) != 0) return std::nullopt;
  return ToAccess(required);
}

}  // namespace

std::optional<Access> RegionAccess(unsigned flags) {
  // IBA 10.6.3.1: remote write and atomics need local write.
  constexpr unsigned kWriting = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  if ((flags & kWriting) != 0 && (flags & IBV_ACCESS_LOCAL_WRITE) == 0) return std::nullopt;
  const auto access = Only(flags, kRegion);
  if (!access) return std::nullopt;
  return *access | Access::kLocalRead;
}

std::optional<Access> WindowAccess(unsigned flags) {
  // Programs that copy the flags of a region include local write; it has no effect here.
  constexpr unsigned kKnown = kRemote | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;
  if (!Only(flags, kKnown)) return std::nullopt;
  return ToAccess(flags & kRemote);
}

}  // namespace verbena::ibverbs
