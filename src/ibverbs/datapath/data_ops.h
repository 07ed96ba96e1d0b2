#pragma once

#include <infiniband/verbs.h>

namespace verbena::ibverbs {

// Sets the operations on queues and work requests that programs call through pointers in the
// context and not through an exported function. control_ops.h has the others.
void FillDataOps(verbs_context& context);

}  // namespace verbena::ibverbs
