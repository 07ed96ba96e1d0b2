#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "ibverbs/objects/objects.h"
#include "ibverbs/objects/qp.h"
#include "verbena/error.h"
#include "verbena/work_request.h"

namespace verbena::ibverbs {

// The key with the index of the window and the variant (the low 8 bits) of `rkey`. The other bits
// of `rkey` are ignored.
[[nodiscard]] Key KeyOf(const Mw& window, uint32_t rkey);

// Converts a bind of `window` to the key `wanted`. Fails with kNotPermitted (EPERM) if the window,
// the region and the queue pair are not in one protection domain. The window is passed as an object
// and not by its key: the present key depends on binds in flight, which can still fail, and the
// program can write to ibv_mw::rkey.
[[nodiscard]] CodeOr<Bind> ToBind(const Qp& qp, const Mw& window, Key wanted,
                                  const ibv_mw_bind_info& info);

// Call after the bind to `wanted` was posted: sets ibv_mw::rkey, as ibv_alloc_mw(3) says that binds
// do.
void NoteBind(Mw& window, Key wanted);

}  // namespace verbena::ibverbs
