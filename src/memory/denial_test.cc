#include "memory/denial.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

constexpr auto kLast = static_cast<unsigned>(Denial::kWraps);

// The letters come in the order in which the checks are made, and what has none comes last.
constexpr bool LettersAscend() {
  char previous = 'a';
  for (unsigned i = 0; i <= kLast; ++i) {
    const char letter = CheckOf(static_cast<Denial>(i));
    const bool lettered = letter >= 'a' && letter <= 'g';
    if (!lettered && letter != '-') return false;
    if (lettered && (previous == '-' || letter < previous)) return false;
    previous = letter;
  }
  return previous == '-';
}
static_assert(LettersAscend());

static_assert(CheckOf(Denial::kNoSuchKey) == 'a');
static_assert(CheckOf(Denial::kGuestGone) == 'a');
static_assert(CheckOf(Denial::kWrongType) == 'b');
static_assert(CheckOf(Denial::kWrongDomain) == 'c');
static_assert(CheckOf(Denial::kWrongQp) == 'c');
static_assert(CheckOf(Denial::kStaleInstance) == 'd');
static_assert(CheckOf(Denial::kOutOfRange) == 'e');
static_assert(CheckOf(Denial::kNoRight) == 'f');
static_assert(CheckOf(Denial::kNotBindable) == 'g');
static_assert(CheckOf(Denial::kWrongCommand) == 'g');
static_assert(CheckOf(Denial::kMisaligned) == '-');

TEST(DenialTest, EveryLetterOfTheDocumentsIsUsed) {
  std::set<char> letters;
  for (unsigned i = 0; i <= kLast; ++i) letters.insert(CheckOf(static_cast<Denial>(i)));
  EXPECT_EQ(std::string(letters.begin(), letters.end()), "-abcdefg");
}

TEST(DenialTest, EveryDenialHasANameOfItsOwn) {
  std::set<std::string> names;
  for (unsigned i = 0; i <= kLast; ++i) names.insert(NameOf(static_cast<Denial>(i)));
  EXPECT_EQ(names.size(), kLast + 1);
  EXPECT_EQ(names.count("?"), 0u);
}

TEST(DenialTest, TheLastOneIsTheLast) { EXPECT_STREQ(NameOf(static_cast<Denial>(kLast + 1)), "?"); }

}  // namespace
}  // namespace verbena::memory
