#include "transport/common/tagged_message.h"

#include <array>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using Kind = TaggedMessage::Kind;

class TaggedMessageTest : public ::testing::Test {
 protected:
  TaggedMessage Of(wire::TagOpcode operation, size_t length) {
    wire::TagHeader{.operation = operation, .context = 5, .tag = 77}.Serialize(bytes_);
    wire::RendezvousHeader{.address = 0x1000, .r_key = 3, .length = 9}.Serialize(
        std::span(bytes_).subspan(wire::TagHeader::kSize));
    return TaggedMessage::Of(std::span(bytes_).first(length));
  }

  std::array<std::byte, 64> bytes_ = {};
};

TEST_F(TaggedMessageTest, EagerAndRendezvousHaveATag) {
  const TaggedMessage eager = Of(wire::TagOpcode::kEager, 16);
  EXPECT_EQ(eager.kind, Kind::kEager);
  EXPECT_TRUE(eager.has_tag());
  EXPECT_EQ(eager.header.tag, 77u);
  const TaggedMessage rendezvous = Of(wire::TagOpcode::kRendezvous, 32);
  EXPECT_EQ(rendezvous.kind, Kind::kRendezvous);
  EXPECT_TRUE(rendezvous.has_tag());
  EXPECT_EQ(rendezvous.data.length, 9u);
}

TEST_F(TaggedMessageTest, OtherOperationsHaveNoTag) {
  EXPECT_EQ(Of(wire::TagOpcode::kNoTag, 64).kind, Kind::kUntagged);
  EXPECT_EQ(Of(wire::TagOpcode::kFinished, 16).kind, Kind::kUntagged);
  EXPECT_EQ(Of(static_cast<wire::TagOpcode>(200), 64).kind, Kind::kUntagged);
  EXPECT_FALSE(Of(wire::TagOpcode::kNoTag, 64).has_tag());
}

TEST_F(TaggedMessageTest, AMessageThatIsTooShortHasNoTag) {
  EXPECT_EQ(Of(wire::TagOpcode::kEager, 15).kind, Kind::kUntagged);
  EXPECT_EQ(Of(wire::TagOpcode::kEager, 0).kind, Kind::kUntagged);
  EXPECT_EQ(Of(wire::TagOpcode::kRendezvous, 31).kind, Kind::kUntagged);
}

}  // namespace
}  // namespace verbena::transport
