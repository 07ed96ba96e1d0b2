#pragma once

#include <infiniband/verbs.h>

#include "ibverbs/objects/objects.h"
#include "verbena/error.h"
#include "verbena/gid.h"

// Between the address of the verbs (GID index and GID, or LID) and the way that packets go.

namespace verbena::ibverbs {

[[nodiscard]] ErrorOr<AddressVector> AddressVectorOf(Context& context,
                                                     const ibv_ah_attr& attributes);

// For queries: what was set, as far as it means something here.
[[nodiscard]] ErrorOr<ibv_ah_attr> AttributesOf(Context& context, const AddressVector& path);

[[nodiscard]] ibv_gid ToVerbs(const Gid& gid);
[[nodiscard]] Gid FromVerbs(const ibv_gid& gid);

}  // namespace verbena::ibverbs
