#include "base/page.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena {
namespace {

constexpr uint64_t kTop = std::numeric_limits<uint64_t>::max();
constexpr PageShift k4K(12);

std::vector<PagePiece> Pieces(uint64_t address, uint64_t length, PageShift shift) {
  std::vector<PagePiece> pieces;
  for (const PagePiece piece : PagesOf(address, length, shift)) pieces.push_back(piece);
  return pieces;
}

TEST(PageShiftTest, ComesFromPowersOfTwoInRange) {
  EXPECT_EQ(PageShift::FromBytes(4096), PageShift(12));
  EXPECT_EQ(PageShift::FromBytes(uint64_t{1} << 28), PageShift(28));
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{2048}, uint64_t{4097},
                               uint64_t{12288}, uint64_t{1} << 29, uint64_t{1} << 63, kTop}) {
    EXPECT_EQ(PageShift::FromBytes(bytes), std::nullopt) << bytes;
  }
}

TEST(PageShiftTest, KnowsItsSizeAndMask) {
  EXPECT_EQ(k4K.bytes(), 4096u);
  EXPECT_EQ(k4K.mask(), 4095u);
  EXPECT_EQ(PageShift(28).bytes(), 256u * 1024 * 1024);
  EXPECT_LT(k4K, PageShift(21));
}

TEST(PageShiftDeathTest, RefusesSizesOutOfRange) {
  EXPECT_DEATH(PageShift(11), "CHECK failed");
  EXPECT_DEATH(PageShift(29), "CHECK failed");
}

TEST(PageTest, RoundsDown) {
  EXPECT_EQ(RoundDown(0, k4K), 0u);
  EXPECT_EQ(RoundDown(4095, k4K), 0u);
  EXPECT_EQ(RoundDown(4096, k4K), 4096u);
  EXPECT_EQ(RoundDown(kTop, k4K), kTop - 4095);
}

TEST(PageTest, RoundsUpUnlessThatIsTwoToThe64) {
  EXPECT_EQ(RoundUp(0, k4K), 0u);
  EXPECT_EQ(RoundUp(1, k4K), 4096u);
  EXPECT_EQ(RoundUp(4096, k4K), 4096u);
  EXPECT_EQ(RoundUp(kTop - 4095, k4K), kTop - 4095);
  EXPECT_EQ(RoundUp(kTop - 4094, k4K), std::nullopt);
  EXPECT_EQ(RoundUp(kTop, k4K), std::nullopt);
}

TEST(PageTest, CountsPagesTouched) {
  EXPECT_EQ(PageCount(5000, 0, k4K), 0u);
  EXPECT_EQ(PageCount(kTop, 0, k4K), 0u);
  EXPECT_EQ(PageCount(0, 1, k4K), 1u);
  EXPECT_EQ(PageCount(0, 4096, k4K), 1u);
  EXPECT_EQ(PageCount(0, 4097, k4K), 2u);
  EXPECT_EQ(PageCount(4095, 2, k4K), 2u);
  EXPECT_EQ(PageCount(4095, 4098, k4K), 3u);
}

TEST(PageTest, CountsUpToTheLastByte) {
  EXPECT_EQ(PageCount(kTop, 1, k4K), 1u);
  EXPECT_EQ(PageCount(kTop - 4096, 4097, k4K), 2u);
  EXPECT_EQ(PageCount(0, kTop, k4K), uint64_t{1} << 52);
  EXPECT_EQ(PageCount(1, kTop, k4K), uint64_t{1} << 52);
}

TEST(PageDeathTest, RefusesRangesThatWrap) {
  EXPECT_DEATH(static_cast<void>(PageCount(kTop, 2, k4K)), "CHECK failed");
  EXPECT_DEATH(static_cast<void>(PagesOf(2, kTop, k4K)), "CHECK failed");
}

TEST(PagesOfTest, EmptyRangeHasNoPieces) {
  EXPECT_TRUE(Pieces(0, 0, k4K).empty());
  EXPECT_TRUE(Pieces(4097, 0, k4K).empty());
  EXPECT_TRUE(Pieces(kTop, 0, k4K).empty());
}

TEST(PagesOfTest, RangeInsideOnePage) {
  EXPECT_EQ(Pieces(4096 + 7, 9, k4K), (std::vector<PagePiece>{{1, 7, 9}}));
  EXPECT_EQ(Pieces(8192, 4096, k4K), (std::vector<PagePiece>{{2, 0, 4096}}));
}

TEST(PagesOfTest, FirstAndLastPieceArePartial) {
  EXPECT_EQ(Pieces(4095, 4098, k4K),
            (std::vector<PagePiece>{{0, 4095, 1}, {1, 0, 4096}, {2, 0, 1}}));
}

TEST(PagesOfTest, EndsAtTwoToThe64) {
  const uint64_t last_page = kTop >> 12;
  EXPECT_EQ(Pieces(kTop, 1, k4K), (std::vector<PagePiece>{{last_page, 4095, 1}}));
  EXPECT_EQ(Pieces(kTop - 4096, 4097, k4K),
            (std::vector<PagePiece>{{last_page - 1, 4095, 1}, {last_page, 0, 4096}}));
}

TEST(PagesOfTest, WorksWhenCompiling) {
  constexpr auto kBytes = [] {
    uint64_t bytes = 0;
    for (const PagePiece piece : PagesOf(100, 10'000, k4K)) bytes += piece.length;
    return bytes;
  }();
  static_assert(kBytes == 10'000);
}

// The reference: computes the page of every single byte.
std::map<uint64_t, PagePiece> NaivePieces(uint64_t address, uint64_t length, PageShift shift) {
  std::map<uint64_t, PagePiece> pieces;
  for (uint64_t i = 0; i < length; ++i) {
    const uint64_t page = (address + i) / shift.bytes();
    const uint64_t offset = (address + i) % shift.bytes();
    ++pieces.try_emplace(page, PagePiece{page, offset, 0}).first->second.length;
  }
  return pieces;
}

TEST(PagesOfTest, AgreesWithAskingEveryByte) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    const PageShift shift(static_cast<unsigned>(random.Between(12, 14)));
    const uint64_t length = random.Below(4 * shift.bytes());
    const uint64_t at_bottom = random.Below(3 * shift.bytes());
    const uint64_t at_top = kTop - length - random.Below(3 * shift.bytes()) + 1;
    const uint64_t address = random.Chance(1, 2) ? at_bottom : at_top;
    SCOPED_TRACE(testing::Message() << address << " + " << length);

    std::vector<PagePiece> expected;
    for (const auto& [page, piece] : NaivePieces(address, length, shift)) expected.push_back(piece);
    EXPECT_EQ(Pieces(address, length, shift), expected);
    EXPECT_EQ(PageCount(address, length, shift), expected.size());
  }
}

}  // namespace
}  // namespace verbena
