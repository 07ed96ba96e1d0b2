#pragma once

#include <cstddef>
#include <span>

#include "verbena/cm_event.h"

namespace verbena::transport {

// Decides by the first bytes that arrived (row B11). No more than kDecisiveBytes are needed.
inline constexpr size_t kDecisiveBytes = 16;
[[nodiscard]] StreamKind KindOf(std::span<const std::byte> first);

}  // namespace verbena::transport
