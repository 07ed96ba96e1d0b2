#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ibverbs/objects/objects.h"
#include "ibverbs/settings.h"

// The registration cache of a domain, which serves ibv_reg_mr if the user wants one (verbena run
// --cache). ibv_dereg_mr then leaves the memory registered, and pinned, for the next ibv_reg_mr of
// the same bytes. Each ibv_mr has keys of its own, which are refused after ibv_dereg_mr, as without
// a cache.

namespace verbena::ibverbs {

// Gives the domain a cache, if the settings say so. Without memory for one it does without.
void OpenCache(Pd& pd, const Settings& settings);
// Ends it, and adds its counters to those of the process.
void CloseCache(Pd& pd);

// Whether a cache has a region for this request. It does not take what has windows, other addresses
// than the program's, or no bytes, nor on-demand regions, which are never pinned.
[[nodiscard]] bool IsCached(Pd& pd, const void* address, size_t length, uint64_t iova,
                            unsigned flags);

// The counters of all caches that this process had, and the tables of those that it has.
[[nodiscard]] std::string CacheReport(bool with_tables);

}  // namespace verbena::ibverbs
