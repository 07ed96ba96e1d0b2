#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace verbena::cli {

// Bytes that follow from a seed, so that a reader that knows it can tell whether they arrived.
void FillPayload(std::span<std::byte> bytes, uint64_t seed);

// Where the first byte is that should be another.
[[nodiscard]] std::optional<size_t> FindWrongByte(std::span<const std::byte> bytes, uint64_t seed);

}  // namespace verbena::cli
