#include "ibverbs/shared.h"

#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

const verbena::Context& HandleOf(ibv_context* context) { return Cast(context).handle; }

}  // namespace verbena::ibverbs
