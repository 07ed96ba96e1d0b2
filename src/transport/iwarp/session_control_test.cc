#include "transport/iwarp/session_control.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "transport/iwarp/mpa_handshake.h"

namespace verbena::transport {
namespace {

using wire::DdpFunction;
using wire::DdpSessionControl;
using wire::DdpSsn;

const std::vector<std::byte> kData = {std::byte{1}, std::byte{2}, std::byte{3}};

MpaFrameReader Read(wire::MpaFrameKind kind, std::span<const std::byte> bytes) {
  MpaFrameReader reader(kind);
  EXPECT_EQ(reader.Take(bytes), bytes.size());
  EXPECT_TRUE(reader.is_complete());
  return reader;
}

TEST(SessionControlTest, ARequestIsAnInitiate) {
  for (const uint8_t revision : {uint8_t{1}, uint8_t{2}}) {
    const auto frame = MakeMpaRequest({.revision = revision, .ird = 7, .ord = 9}, kData);
    const auto control = ControlOf(frame.bytes(), DdpSsn(5));
    ASSERT_TRUE(control.has_value());
    const auto header = DdpSessionControl::Parse(control->view());
    EXPECT_EQ(header->ssn, DdpSsn(5));
    EXPECT_EQ(header->function,
              revision == 1 ? DdpFunction::kInitiate : DdpFunction::kEnhancedInitiate);
    const auto back = FrameOf(control->view());
    ASSERT_TRUE(back.has_value());
    const auto reader = Read(wire::MpaFrameKind::kRequest, back->view());
    EXPECT_TRUE(std::ranges::equal(reader.private_data(), kData));
    EXPECT_EQ(reader.frame().revision, revision);
    if (revision == 2) {
      EXPECT_EQ(reader.enhanced()->ird, 7);
      EXPECT_EQ(reader.enhanced()->ord, 9);
    }
  }
}

TEST(SessionControlTest, AReplyIsAnAcceptOrAReject) {
  for (const uint8_t revision : {uint8_t{1}, uint8_t{2}}) {
    const auto request = Read(wire::MpaFrameKind::kRequest,
                              MakeMpaRequest({.revision = revision, .ird = 7}, {}).bytes());
    const auto accepted = AcceptMpa(request, {}, kData).reply;
    const auto rejected = RejectMpa(request, kData);
    const auto accept = ControlOf(accepted.bytes(), DdpSsn(0));
    const auto reject = ControlOf(rejected.bytes(), DdpSsn(0));
    EXPECT_EQ(DdpSessionControl::Parse(accept->view())->function,
              revision == 1 ? DdpFunction::kAccept : DdpFunction::kEnhancedAccept);
    EXPECT_EQ(DdpSessionControl::Parse(reject->view())->function,
              revision == 1 ? DdpFunction::kReject : DdpFunction::kEnhancedReject);
    EXPECT_FALSE(Read(wire::MpaFrameKind::kReply, FrameOf(accept->view())->view()).frame().rejects);
    EXPECT_TRUE(Read(wire::MpaFrameKind::kReply, FrameOf(reject->view())->view()).frame().rejects);
  }
}

TEST(SessionControlTest, RefusesWhatIsNoSetUp) {
  std::vector<std::byte> bytes(DdpSessionControl::kSize);
  DdpSessionControl{.function = DdpFunction::kTerminate}.Serialize(bytes);
  EXPECT_FALSE(FrameOf(bytes).has_value());
  DdpSessionControl{.function = DdpFunction::kEnhancedAccept}.Serialize(bytes);
  EXPECT_FALSE(FrameOf(bytes).has_value()) << "an enhanced message without depths";
  EXPECT_FALSE(FrameOf(std::span(bytes).first(3)).has_value());
  DdpSessionControl{.function = DdpFunction::kAccept}.Serialize(bytes);
  bytes.resize(DdpSessionControl::kSize + DdpSessionControl::kPrivateDataMax);
  EXPECT_TRUE(FrameOf(bytes).has_value());
  bytes.resize(bytes.size() + 1);
  EXPECT_FALSE(FrameOf(bytes).has_value()) << "too much private data";
  EXPECT_FALSE(ControlOf(bytes, DdpSsn(0)).has_value()) << "no MPA frame";
}

}  // namespace
}  // namespace verbena::transport
