#include "transport/cm/cm_state.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

constexpr int kStates = static_cast<int>(CmState::kClosed) + 1;

TEST(CmStateTest, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i < kStates; ++i) names.insert(NameOf(static_cast<CmState>(i)));
  EXPECT_EQ(names.size(), 13u);
}

TEST(CmStateTest, FourStatesAreHalfOpenAndTwoOfThemPending) {
  std::set<CmState> half_open, pending;
  for (int i = 0; i < kStates; ++i) {
    const auto state = static_cast<CmState>(i);
    if (IsHalfOpen(state)) half_open.insert(state);
    if (IsPending(state)) pending.insert(state);
  }
  EXPECT_EQ(half_open, (std::set{CmState::kReqReceived, CmState::kMraReqSent, CmState::kRepSent,
                                 CmState::kMraRepReceived}));
  EXPECT_EQ(pending, (std::set{CmState::kReqReceived, CmState::kMraReqSent}));
}

}  // namespace
}  // namespace verbena::transport
