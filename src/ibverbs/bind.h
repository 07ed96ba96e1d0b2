#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "ibverbs/objects.h"
#include "ibverbs/qp.h"
#include "verbena/error.h"
#include "verbena/work_request.h"

namespace verbena::ibverbs {

// A bind of a window in our words, or why it is not one: EPERM if the window, the region and the
// queue pair are not of one domain.
[[nodiscard]] CodeOr<Bind> ToBind(const Qp& qp, Mw& window, Key current, Key wanted,
                                  const ibv_mw_bind_info& info);

}  // namespace verbena::ibverbs
