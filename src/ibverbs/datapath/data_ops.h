#pragma once

#include <infiniband/verbs.h>

namespace verbena::ibverbs {

// Sets what programs reach through the context without calling an exported function: everything
// about queues and work requests.
void FillDataOps(verbs_context& context);

}  // namespace verbena::ibverbs
