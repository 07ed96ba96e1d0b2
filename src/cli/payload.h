#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace verbena::cli {

// Fills `bytes` from a seed, so that a reader that knows the seed can verify them.
void FillPayload(std::span<std::byte> bytes, uint64_t seed);

// The index of the first byte that does not match the seed, if any.
[[nodiscard]] std::optional<size_t> FindWrongByte(std::span<const std::byte> bytes, uint64_t seed);

}  // namespace verbena::cli
