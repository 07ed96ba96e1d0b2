#include "fabric/message_batch.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

constexpr TransmitLimits kLimits{.messages = 4, .bytes = 128 << 10};

Route RouteTo(uint8_t last) {
  return {.from = IpAddress::FromIpv4(10, 0, 0, 1),
          .to = {.ip = IpAddress::FromIpv4(10, 0, 0, last), .port = 4791}};
}

// The segments of each message.
std::vector<size_t> SegmentsOf(const MessageBatch& batch) {
  std::vector<size_t> segments;
  for (const MessageBatch::Message& message : batch.messages()) {
    segments.push_back(message.segments);
  }
  return segments;
}

class MessageBatchTest : public testing::Test {
 protected:
  void Reserve(const Route& route, size_t size) {
    EXPECT_TRUE(batch_.Reserve(route, size).has_value());
  }

  MessageBatch batch_{kLimits, /*segmentation=*/true};
};

TEST_F(MessageBatchTest, DatagramsOfOneSizeAndRouteAreOneMessage) {
  Reserve(RouteTo(2), 100);
  const auto second = batch_.Reserve(RouteTo(2), 100);
  EXPECT_EQ(second->ip_id, 1) << "as the system numbers segments";
  EXPECT_EQ(SegmentsOf(batch_), std::vector<size_t>({2}));
  EXPECT_EQ(batch_.messages()[0].bytes.size(), 200u);
}

TEST_F(MessageBatchTest, OnlyTheLastSegmentMayBeSmaller) {
  Reserve(RouteTo(2), 100);
  Reserve(RouteTo(2), 40);
  Reserve(RouteTo(2), 40);
  EXPECT_EQ(SegmentsOf(batch_), std::vector<size_t>({2, 1}));
  Reserve(RouteTo(2), 100);
  EXPECT_EQ(SegmentsOf(batch_), std::vector<size_t>({2, 1, 1})) << "a larger one never joins";
}

TEST_F(MessageBatchTest, OtherRoutesSinglesAndSealedMessagesAreSeparate) {
  Reserve(RouteTo(2), 100);
  Reserve(RouteTo(3), 100);
  Route single = RouteTo(3);
  single.single = true;
  Reserve(single, 100);
  EXPECT_EQ(SegmentsOf(batch_), std::vector<size_t>({1, 1, 1}));
  batch_.Seal();
  Reserve(single, 100);
  EXPECT_EQ(SegmentsOf(batch_), std::vector<size_t>({1, 1, 1, 1}));
}

TEST_F(MessageBatchTest, WithoutSegmentationAllAreSingle) {
  batch_.StopSegments();
  Reserve(RouteTo(2), 100);
  Reserve(RouteTo(2), 100);
  EXPECT_EQ(SegmentsOf(batch_), std::vector<size_t>({1, 1}));
}

TEST_F(MessageBatchTest, HasRoomUntilItsMessagesAreUsedUp) {
  EXPECT_EQ(batch_.room(100), kLimits.messages);
  for (uint8_t i = 0; i < kLimits.messages; ++i) Reserve(RouteTo(i), 100);
  EXPECT_EQ(batch_.room(100), 0u);
  EXPECT_FALSE(batch_.Reserve(RouteTo(200), 100).has_value());
  batch_.Clear();
  EXPECT_TRUE(batch_.empty());
  EXPECT_EQ(batch_.room(100), kLimits.messages);
}

TEST_F(MessageBatchTest, CancelLastRemovesTheLastDatagram) {
  Reserve(RouteTo(2), 100);
  Reserve(RouteTo(2), 40);
  batch_.CancelLast();
  EXPECT_EQ(SegmentsOf(batch_), std::vector<size_t>({1}));
  Reserve(RouteTo(2), 100);
  EXPECT_EQ(SegmentsOf(batch_), std::vector<size_t>({2})) << "open again for one of full size";
  batch_.CancelLast();
  batch_.CancelLast();
  EXPECT_TRUE(batch_.empty());
}

}  // namespace
}  // namespace verbena::fabric
