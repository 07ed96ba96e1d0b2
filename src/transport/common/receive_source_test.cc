#include "transport/common/receive_source.h"

#include <array>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using queue::ReceiveQueue;
using queue::SharedReceiveQueue;

constexpr std::array<Sge, 2> kSges = {
    {{.address = 0x1000, .length = 10}, {.address = 0x2000, .length = 20}}};

TEST(ReceiveSourceTest, OwnElementsComeInOrderAndKeepTheirPlaceUntilFinished) {
  ReceiveQueue queue({.capacity = 2, .sges_max = 2});
  ReceiveSource source(queue);
  EXPECT_TRUE(source.empty());
  EXPECT_FALSE(source.Take().has_value());
  ASSERT_TRUE(queue.Post({.wqe = {.id = WrId(1)}, .sges = kSges}).has_value());
  ASSERT_TRUE(queue.Post({.wqe = {.id = WrId(2)}}).has_value());
  const auto first = source.Take();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->id, WrId(1));
  EXPECT_EQ(first->length, 30u);
  EXPECT_EQ(first->sges.size(), 2u);
  EXPECT_FALSE(queue.Post({}).has_value());
  source.Finish(*first);
  EXPECT_EQ(source.Take()->id, WrId(2));
  EXPECT_TRUE(queue.Post({}).has_value());
}

TEST(ReceiveSourceTest, OwnCreditsCountTheElementInProgress) {
  ReceiveQueue queue({.capacity = 4, .sges_max = 0});
  ReceiveSource source(queue);
  EXPECT_EQ(wire::CreditsOf(source.credits()), 0u);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.Post({}).has_value());
  const auto element = source.Take();
  EXPECT_EQ(wire::CreditsOf(source.credits()), 3u);
  source.Finish(*element);
  EXPECT_EQ(wire::CreditsOf(source.credits()), 2u);
}

TEST(ReceiveSourceTest, SharedElementsAreReturnedAndGrantNoCredits) {
  SharedReceiveQueue queue(2, 2);
  ReceiveSource source(queue, memory::PdId(7));
  EXPECT_TRUE(source.is_shared());
  EXPECT_FALSE(source.Take().has_value());
  ASSERT_TRUE(queue.Post({.wqe = {.id = WrId(1)}, .sges = kSges}).has_value());
  ASSERT_TRUE(queue.Post({.wqe = {.id = WrId(2)}}).has_value());
  queue.SetLimit(2);
  EXPECT_EQ(source.credits(), wire::kCreditsInvalid);
  const auto element = source.Take();
  ASSERT_TRUE(element.has_value());
  EXPECT_EQ(element->id, WrId(1));
  EXPECT_EQ(element->length, 30u);
  EXPECT_TRUE(element->limit_reached);
  EXPECT_FALSE(queue.Post({}).has_value());
  source.Finish(*element);
  EXPECT_TRUE(queue.Post({}).has_value());
  EXPECT_FALSE(source.empty());
}

TEST(ReceiveSourceTest, BuffersBelongToTheDomainOfTheirQueue) {
  const memory::Accessor qp{.pd = memory::PdId(3), .qp = QpNumber(9)};
  ReceiveQueue own({.capacity = 1, .sges_max = 0});
  EXPECT_EQ(ReceiveSource(own).AccessorFor(qp).pd, memory::PdId(3));
  SharedReceiveQueue shared(1, 0);
  const memory::Accessor who = ReceiveSource(shared, memory::PdId(7)).AccessorFor(qp);
  EXPECT_EQ(who.pd, memory::PdId(7));
  EXPECT_EQ(who.qp, QpNumber(9));
}

}  // namespace
}  // namespace verbena::transport
