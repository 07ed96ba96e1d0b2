#pragma once

#include <infiniband/verbs.h>

#include "ibverbs/objects/objects.h"
#include "verbena/error.h"
#include "verbena/gid.h"

// Converts between an address of the verbs (GID index and GID, or LID) and an address vector.

namespace verbena::ibverbs {

[[nodiscard]] ErrorOr<AddressVector> AddressVectorOf(Context& context,
                                                     const ibv_ah_attr& attributes);

// For queries: the attributes that `path` was set from. Fields that have no meaning here are 0.
[[nodiscard]] ErrorOr<ibv_ah_attr> AttributesOf(Context& context, const AddressVector& path);

[[nodiscard]] ibv_gid ToVerbs(const Gid& gid);
[[nodiscard]] Gid FromVerbs(const ibv_gid& gid);

}  // namespace verbena::ibverbs
