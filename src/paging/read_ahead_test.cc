#include "paging/read_ahead.h"

#include <gtest/gtest.h>

namespace verbena::paging {
namespace {

TEST(ReadAhead, DoesNothingForAFirstRequest) {
  ReadAhead ahead(32);
  EXPECT_EQ(ahead.OnRequest({10, 1}).count, 0U);
  EXPECT_EQ(ahead.OnRequest({50, 4}).count, 0U);
}

TEST(ReadAhead, WidensDuringASequence) {
  ReadAhead ahead(8);
  EXPECT_EQ(ahead.OnRequest({10, 1}).count, 0U);
  EXPECT_EQ(ahead.OnRequest({11, 1}), (paging::Run{12, 1}));
  EXPECT_EQ(ahead.OnRequest({12, 1}), (paging::Run{13, 2}));
  EXPECT_EQ(ahead.OnRequest({13, 1}), (paging::Run{15, 3}));  // up to 13 + 1 + 4
  EXPECT_EQ(ahead.OnRequest({14, 1}).count, 0U);  // three are ahead, more than half the window
  EXPECT_EQ(ahead.OnRequest({15, 1}), (paging::Run{18, 6}));  // eight ahead, the largest window
}

TEST(ReadAhead, FollowsLargeRequests) {
  ReadAhead ahead(8);
  EXPECT_EQ(ahead.OnRequest({0, 100}).count, 0U);
  EXPECT_EQ(ahead.OnRequest({100, 100}), (paging::Run{200, 1}));
  EXPECT_EQ(ahead.OnRequest({200, 100}), (paging::Run{300, 2}));
}

TEST(ReadAhead, ARepetitionIsNoSequence) {
  ReadAhead ahead(8);
  EXPECT_EQ(ahead.OnRequest({10, 1}).count, 0U);
  EXPECT_EQ(ahead.OnRequest({10, 1}).count, 0U);  // read, then written
  EXPECT_EQ(ahead.OnRequest({10, 1}).count, 0U);
  EXPECT_EQ(ahead.OnRequest({11, 1}), (paging::Run{12, 1}));
}

TEST(ReadAhead, KeepsSequencesApart) {
  ReadAhead ahead(8);
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(ahead.OnRequest({i * 1000, 1}).count, 0U);
  for (uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(ahead.OnRequest({i * 1000 + 1, 1}), (paging::Run{i * 1000 + 2, 1}));
  }
  // One more sequence replaces the least recently used one.
  EXPECT_EQ(ahead.OnRequest({90'000, 1}).count, 0U);
  EXPECT_EQ(ahead.OnRequest({2, 1}).count, 0U);
}

TEST(ReadAhead, ShrinksWhenReadAheadWasUnused) {
  ReadAhead ahead(32);
  for (int i = 0; i < 10; ++i) ahead.OnWaste();
  EXPECT_EQ(ahead.ceiling(), 1U);
  static_cast<void>(ahead.OnRequest({10, 1}));
  for (uint32_t i = 11; i < 20; ++i) EXPECT_EQ(ahead.OnRequest({i, 1}).count, 1U);
  for (int i = 0; i < 100; ++i) ahead.OnHit();
  EXPECT_EQ(ahead.ceiling(), 32U);
}

TEST(ReadAhead, ContinuesWhereItWasCut) {
  ReadAhead ahead(8);
  EXPECT_EQ(ahead.OnRequest({10, 1}).count, 0U);
  EXPECT_EQ(ahead.OnRequest({11, 1}), (paging::Run{12, 1}));
  EXPECT_EQ(ahead.OnRequest({12, 1}), (paging::Run{13, 2}));
  ahead.Cut(14);
  EXPECT_EQ(ahead.OnRequest({13, 1}), (paging::Run{14, 4}));
}

TEST(ReadAhead, CanBeOff) {
  ReadAhead ahead(0);
  for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(ahead.OnRequest({i, 1}).count, 0U);
  ahead.OnWaste();
  ahead.OnHit();
  EXPECT_EQ(ahead.ceiling(), 0U);
}

}  // namespace
}  // namespace verbena::paging
