#include "memory/refusal.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

constexpr auto kLast = static_cast<unsigned>(Refusal::kWraps);

// The letters come in the order in which the checks are made, and refusals without a letter come
// last.
constexpr bool LettersAscend() {
  char previous = 'a';
  for (unsigned i = 0; i <= kLast; ++i) {
    const char letter = CheckOf(static_cast<Refusal>(i));
    const bool lettered = letter >= 'a' && letter <= 'g';
    if (!lettered && letter != '-') return false;
    if (lettered && (previous == '-' || letter < previous)) return false;
    previous = letter;
  }
  return previous == '-';
}
static_assert(LettersAscend());

static_assert(CheckOf(Refusal::kNoSuchKey) == 'a');
static_assert(CheckOf(Refusal::kGuestGone) == 'a');
static_assert(CheckOf(Refusal::kWrongType) == 'b');
static_assert(CheckOf(Refusal::kWrongDomain) == 'c');
static_assert(CheckOf(Refusal::kWrongQp) == 'c');
static_assert(CheckOf(Refusal::kStaleVariant) == 'd');
static_assert(CheckOf(Refusal::kOutOfRange) == 'e');
static_assert(CheckOf(Refusal::kNoRight) == 'f');
static_assert(CheckOf(Refusal::kNotBindable) == 'g');
static_assert(CheckOf(Refusal::kWrongCommand) == 'g');
static_assert(CheckOf(Refusal::kMisaligned) == '-');

TEST(RefusalTest, EveryLetterIsUsed) {
  std::set<char> letters;
  for (unsigned i = 0; i <= kLast; ++i) letters.insert(CheckOf(static_cast<Refusal>(i)));
  EXPECT_EQ(std::string(letters.begin(), letters.end()), "-abcdefg");
}

TEST(RefusalTest, EveryRefusalHasADistinctName) {
  std::set<std::string> names;
  for (unsigned i = 0; i <= kLast; ++i) names.insert(NameOf(static_cast<Refusal>(i)));
  EXPECT_EQ(names.size(), kLast + 1);
  EXPECT_EQ(names.count("?"), 0u);
}

TEST(RefusalTest, TheLastValueIsKnown) {
  EXPECT_STREQ(NameOf(static_cast<Refusal>(kLast + 1)), "?");
}

}  // namespace
}  // namespace verbena::memory
