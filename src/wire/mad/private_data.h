#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "base/check.h"

namespace verbena::wire {

// The private data of a message. The wire has no length for it: shorter data is padded with zeros.
// A value type.
template <std::size_t kBytes>
struct PrivateData {
  static constexpr std::size_t kSize = kBytes;

  std::array<std::byte, kBytes> bytes{};

  // REQUIRES: at most kSize bytes.
  [[nodiscard]] static PrivateData From(std::span<const std::byte> text) {
    CHECK(text.size() <= kSize);
    PrivateData data;
    std::ranges::copy(text, data.bytes.begin());
    return data;
  }

  // From and to the first kSize bytes of a span. REQUIRES: the span has them.
  [[nodiscard]] static PrivateData Load(std::span<const std::byte> from) {
    return From(from.first(kSize));
  }
  void Store(std::span<std::byte> to) const {
    CHECK(to.size() >= kSize);
    std::ranges::copy(bytes, to.begin());
  }

  friend bool operator==(const PrivateData&, const PrivateData&) = default;
};

}  // namespace verbena::wire
