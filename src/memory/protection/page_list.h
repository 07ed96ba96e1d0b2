#pragma once

#include <cstdint>

#include "memory/protection/regions.h"

namespace verbena::memory {

// True if the list is well formed (every page aligned and not beyond 2^64, first byte in the first
// page) and covers exactly the pages that `length` bytes need.
bool CoversLength(const PageListBacking& list, uint64_t length);

// True if page lists may contain every page of `list`.
bool MayList(const TranslationStore& store, PhysicalSpace space, const PageListBacking& list);

// Makes every page of a well-formed list present, from page 0. REQUIRES: the table has room.
void MapPageList(TranslationStore& store, TranslationTable& table, const PageListBacking& list);

}  // namespace verbena::memory
