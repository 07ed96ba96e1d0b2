#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "ibverbs/objects/objects.h"
#include "ibverbs/objects/qp.h"
#include "verbena/error.h"
#include "verbena/work_request.h"

namespace verbena::ibverbs {

// The key of a window that has the variant (the low 8 bits) of `rkey`. The index is the window's
// own, whatever `rkey` has there.
[[nodiscard]] Key KeyOf(const Mw& window, uint32_t rkey);

// A bind of a window to `wanted` in our words, or why it is not one: EPERM if the window, the
// region and the queue pair are not of one domain. The window is named as an object: what its key
// is now depends on binds that may still fail, and `ibv_mw::rkey` is for the program to read and to
// write.
[[nodiscard]] CodeOr<Bind> ToBind(const Qp& qp, const Mw& window, Key wanted,
                                  const ibv_mw_bind_info& info);

// The bind to `wanted` was posted, and `ibv_mw::rkey` follows (ibv_alloc_mw(3): binds change it).
void NoteBind(Mw& window, Key wanted);

}  // namespace verbena::ibverbs
