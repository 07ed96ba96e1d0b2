#include "paging/action.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::paging {
namespace {

std::vector<std::string> Texts(const ActionList& list) {
  std::vector<std::string> texts;
  for (const Action& action : list) texts.push_back(ToString(action));
  return texts;
}

TEST(Action, HasAText) {
  EXPECT_EQ(ToString({.verb = Verb::kUnmap, .run = {5, 1}, .view = View::kAdapter}),
            "unmap 5 adapter");
  EXPECT_EQ(ToString({.verb = Verb::kMap, .run = {5, 3}, .is_writable = true}),
            "map 5+2 cpu writable");
  EXPECT_EQ(ToString({.verb = Verb::kReady, .run = {0, 2}, .ticket = Ticket(7)}), "ready #7 0+1");
  EXPECT_EQ(ToString({.verb = Verb::kRefused, .ticket = Ticket(7), .error = RequestError::kLimit}),
            "refused #7 limit");
  EXPECT_EQ(ToString({.verb = Verb::kReport, .report = StoreReport::kFailing}),
            "report store failing");
  EXPECT_EQ(ToString({.verb = Verb::kMakeZero, .run = {1, 1}}), "make zero 1");
}

TEST(ActionList, JoinsAdjacentRuns) {
  ActionList list;
  list.Add({.verb = Verb::kDrop, .run = {3, 1}});
  list.Add({.verb = Verb::kDrop, .run = {4, 2}});
  list.Add({.verb = Verb::kDrop, .run = {7, 1}});
  list.Add({.verb = Verb::kRead, .run = {8, 1}});
  EXPECT_EQ(Texts(list), (std::vector<std::string>{"drop 3+2", "drop 7", "read 8"}));
}

TEST(ActionList, JoinsOneViewAndOneRightOnly) {
  ActionList list;
  list.Add({.verb = Verb::kMap, .run = {3, 1}, .view = View::kCpu});
  list.Add({.verb = Verb::kMap, .run = {4, 1}, .view = View::kAdapter});
  list.Add({.verb = Verb::kMap, .run = {5, 1}, .view = View::kAdapter, .is_writable = true});
  list.Add({.verb = Verb::kMap, .run = {6, 1}, .view = View::kAdapter, .is_writable = true});
  EXPECT_EQ(Texts(list),
            (std::vector<std::string>{"map 3 cpu", "map 4 adapter", "map 5+1 adapter writable"}));
}

TEST(ActionList, JoinsDropsAcrossARead) {
  ActionList list;
  list.Add({.verb = Verb::kDrop, .run = {3, 1}});
  list.Add({.verb = Verb::kRead, .run = {8, 1}});
  list.Add({.verb = Verb::kDrop, .run = {4, 1}});
  list.Add({.verb = Verb::kRead, .run = {9, 1}});
  EXPECT_EQ(Texts(list), (std::vector<std::string>{"drop 3+1", "read 8+1"}));
}

TEST(ActionList, JoinsUnmapsOfTwoViews) {
  ActionList list;
  for (uint32_t i = 3; i < 7; ++i) {
    list.Add({.verb = Verb::kUnmap, .run = {i, 1}, .view = View::kCpu});
    list.Add({.verb = Verb::kUnmap, .run = {i, 1}, .view = View::kAdapter});
  }
  EXPECT_EQ(Texts(list), (std::vector<std::string>{"unmap 3+3 cpu", "unmap 3+3 adapter"}));
}

TEST(ActionList, LeavesAnswersAlone) {
  ActionList list;
  list.Add({.verb = Verb::kReady, .run = {3, 1}, .ticket = Ticket(1)});
  list.Add({.verb = Verb::kReady, .run = {4, 1}, .ticket = Ticket(1)});
  EXPECT_EQ(Texts(list).size(), 2U);
  list.Clear();
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace verbena::paging
