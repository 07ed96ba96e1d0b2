#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "base/check.h"
#include "base/interval_map.h"

namespace verbena {

// The size of a page as a power of two, 4 KiB to 256 MiB. Always in that range, so code that holds
// a PageShift need not check it. A value type.
class PageShift {
 public:
  static constexpr unsigned kMin = 12;
  static constexpr unsigned kMax = 28;

  explicit constexpr PageShift(unsigned value) : value_(value) {
    CHECK(value >= kMin && value <= kMax);
  }

  // nullopt unless `bytes` is a power of two in range; for sizes that come from outside.
  [[nodiscard]] static constexpr std::optional<PageShift> FromBytes(uint64_t bytes) {
    if (!std::has_single_bit(bytes)) return std::nullopt;
    const auto shift = static_cast<unsigned>(std::countr_zero(bytes));
    if (shift < kMin || shift > kMax) return std::nullopt;
    return PageShift(shift);
  }

  [[nodiscard]] constexpr unsigned value() const { return value_; }
  [[nodiscard]] constexpr uint64_t bytes() const { return uint64_t{1} << value_; }
  // The bits of an address that lie inside its page.
  [[nodiscard]] constexpr uint64_t mask() const { return bytes() - 1; }

  friend constexpr auto operator<=>(PageShift, PageShift) = default;

 private:
  unsigned value_;
};

// The processor's own page, in which the system maps, protects and reports memory.
inline constexpr PageShift kBasePage{PageShift::kMin};
inline constexpr uint64_t kPageBytes = kBasePage.bytes();

[[nodiscard]] constexpr uint64_t RoundDown(uint64_t address, PageShift shift) {
  return address & ~shift.mask();
}

// nullopt when the next page boundary is 2^64 itself.
[[nodiscard]] constexpr std::optional<uint64_t> RoundUp(uint64_t address, PageShift shift) {
  const uint64_t rounded = (address + shift.mask()) & ~shift.mask();
  if (rounded < address) return std::nullopt;
  return rounded;
}

// The bytes of the base pages that [address, address + length) touches. REQUIRES: some bytes.
[[nodiscard]] constexpr Interval CoveringPages(uint64_t address, uint64_t length) {
  CHECK(length > 0);
  return {RoundDown(address, kBasePage), (address + (length - 1)) | kBasePage.mask()};
}

// The number of pages that [address, address + length) touches. The range can end at 2^64 but must
// not pass it.
[[nodiscard]] constexpr uint64_t PageCount(uint64_t address, uint64_t length, PageShift shift) {
  if (length == 0) return 0;
  const uint64_t last = address + (length - 1);
  CHECK(last >= address);
  return (last >> shift.value()) - (address >> shift.value()) + 1;
}

// The part of a range that lies in one page.
struct PagePiece {
  uint64_t page;    // page number: address >> shift
  uint64_t offset;  // of the first byte, inside the page
  uint64_t length;  // never 0

  friend constexpr bool operator==(const PagePiece&, const PagePiece&) = default;
};

// The pieces that a range of addresses has in each page, in order; see PagesOf. Only the first and
// the last piece can be smaller than a page. A value type, allocates no memory.
class PageRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = PagePiece;
    using difference_type = std::ptrdiff_t;
    using pointer = const PagePiece*;
    using reference = PagePiece;

    constexpr Iterator(uint64_t address, uint64_t length, PageShift shift)
        : page_(address >> shift.value()),
          offset_(address & shift.mask()),
          left_(length),
          page_bytes_(shift.bytes()) {}

    constexpr PagePiece operator*() const { return {page_, offset_, PieceLength()}; }
    constexpr Iterator& operator++() {
      left_ -= PieceLength();
      offset_ = 0;
      ++page_;
      return *this;
    }
    constexpr Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend constexpr bool operator==(const Iterator& it, std::default_sentinel_t) {
      return it.left_ == 0;
    }

   private:
    [[nodiscard]] constexpr uint64_t PieceLength() const {
      return std::min(left_, page_bytes_ - offset_);
    }

    uint64_t page_;
    uint64_t offset_;
    uint64_t left_;
    uint64_t page_bytes_;
  };

  constexpr PageRange(uint64_t address, uint64_t length, PageShift shift)
      : begin_(address, length, shift) {
    CHECK(length == 0 || address + (length - 1) >= address);
  }

  [[nodiscard]] constexpr Iterator begin() const { return begin_; }
  [[nodiscard]] constexpr std::default_sentinel_t end() const { return std::default_sentinel; }

 private:
  Iterator begin_;
};

// for (PagePiece piece : PagesOf(address, length, shift)) ... The range may end at 2^64 but not
// pass it; a range of length 0 has no pieces.
[[nodiscard]] constexpr PageRange PagesOf(uint64_t address, uint64_t length, PageShift shift) {
  return PageRange(address, length, shift);
}

}  // namespace verbena
