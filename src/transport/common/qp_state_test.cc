#include "transport/common/qp_state.h"

#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

constexpr struct {
  QpState state;
  const char* name;
  // R: receives may be posted. q: requests of the peer are accepted. r: receives are flushed.
  // S: sends may be posted. b: sends are started. e: sends are finished. s: sends are flushed.
  std::string_view may;
} kStates[] = {
    {QpState::kReset, "RESET", ""},  {QpState::kInit, "INIT", "R"},  {QpState::kRtr, "RTR", "Rq"},
    {QpState::kRts, "RTS", "RqSbe"}, {QpState::kSqd, "SQD", "RqSe"}, {QpState::kSqe, "SQE", "RqSs"},
    {QpState::kErr, "ERR", "RrSs"},
};
static_assert(std::size(kStates) == kQpStateCount);

std::string WhatItMay(QpState state) {
  std::string may;
  if (MayPostReceives(state)) may += 'R';
  if (TakesRequests(state)) may += 'q';
  if (FlushesReceives(state)) may += 'r';
  if (MayPostSends(state)) may += 'S';
  if (StartsSends(state)) may += 'b';
  if (FinishesSends(state)) may += 'e';
  if (FlushesSends(state)) may += 's';
  return may;
}

TEST(QpStateTest, EachStateAllowsTheOperationsOfTheSpecification) {
  for (const auto& row : kStates) EXPECT_EQ(WhatItMay(row.state), row.may) << row.name;
}

TEST(QpStateTest, NoStateExecutesAndFlushesTheSameQueue) {
  for (const auto& row : kStates) {
    EXPECT_FALSE(TakesRequests(row.state) && FlushesReceives(row.state)) << row.name;
    EXPECT_FALSE(FinishesSends(row.state) && FlushesSends(row.state)) << row.name;
  }
}

TEST(QpStateTest, ValuesAndNamesAreThoseOfTheVerbs) {
  for (size_t i = 0; i < kQpStateCount; ++i) {
    EXPECT_EQ(kStates[i].state, static_cast<QpState>(i));
    EXPECT_STREQ(NameOf(kStates[i].state), kStates[i].name);
  }
  EXPECT_STREQ(NameOf(static_cast<QpState>(kQpStateCount)), "?");
}

TEST(QpTypeTest, EachTypeHasItsName) {
  EXPECT_STREQ(NameOf(QpType::kRc), "RC");
  EXPECT_STREQ(NameOf(QpType::kUc), "UC");
  EXPECT_STREQ(NameOf(QpType::kUd), "UD");
  EXPECT_STREQ(NameOf(QpType::kXrcSend), "XRC_SEND");
  EXPECT_STREQ(NameOf(QpType::kXrcReceive), "XRC_RECV");
  EXPECT_STREQ(NameOf(QpType::kStream), "STREAM");
  EXPECT_STREQ(NameOf(static_cast<QpType>(kQpTypeCount)), "?");
}

TEST(QpTypeTest, EachTypeHasItsService) {
  EXPECT_EQ(ServiceOf(QpType::kRc), wire::Service::kRc);
  EXPECT_EQ(ServiceOf(QpType::kUc), wire::Service::kUc);
  EXPECT_EQ(ServiceOf(QpType::kUd), wire::Service::kUd);
  EXPECT_EQ(ServiceOf(QpType::kXrcSend), wire::Service::kXrc);
  EXPECT_EQ(ServiceOf(QpType::kXrcReceive), wire::Service::kXrc);
}

TEST(QpTypeTest, OnlyUnreliableOnesKeepReceivingAfterAFailedSend) {
  EXPECT_EQ(StateAfterSendError(QpType::kUc), QpState::kSqe);
  EXPECT_EQ(StateAfterSendError(QpType::kUd), QpState::kSqe);
  EXPECT_EQ(StateAfterSendError(QpType::kRc), QpState::kErr);
  EXPECT_EQ(StateAfterSendError(QpType::kXrcSend), QpState::kErr);
  EXPECT_EQ(StateAfterSendError(QpType::kXrcReceive), QpState::kErr);
}

}  // namespace
}  // namespace verbena::transport
