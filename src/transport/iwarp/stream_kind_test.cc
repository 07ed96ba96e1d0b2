#include "transport/iwarp/stream_kind.h"

#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"
#include "wire/iwarp/mpa_request.h"

namespace verbena::transport {
namespace {

using wire::FromHex;

StreamKind KindOfText(std::string_view text) { return KindOf(std::as_bytes(std::span(text))); }

TEST(StreamKindTest, AnMpaRequestIsRdma) {
  const auto request = wire::Written(wire::MpaRequest{.kind = wire::MpaFrameKind::kRequest});
  EXPECT_EQ(KindOf(request), StreamKind::kRdma);
  for (size_t size = 0; size < kDecisiveBytes; ++size) {
    EXPECT_EQ(KindOf(std::span(request).first(size)), StreamKind::kUndecided) << size;
  }
  EXPECT_EQ(KindOf(std::span(request).first(kDecisiveBytes)), StreamKind::kRdma);
}

TEST(StreamKindTest, ALoginRequestIsIscsi) {
  const auto login = FromHex("43 87 0000 00 00012c");
  EXPECT_EQ(KindOf(login), StreamKind::kIscsi);
  for (size_t size = 1; size < 6; ++size) {
    EXPECT_EQ(KindOf(std::span(login).first(size)), StreamKind::kUndecided) << size;
  }
}

TEST(StreamKindTest, AllElseIsPlain) {
  for (const std::string_view text : {"GET / HTTP/1.1", "CONNECT a", "MPA ID Rep Frame", "M\n",
                                      "SSH-2.0-", "C\x87\x01", "MPA ID Req frame"}) {
    EXPECT_EQ(KindOfText(text), StreamKind::kPlain) << text;
  }
  EXPECT_EQ(KindOfText("MPA ID R"), StreamKind::kUndecided);
}

TEST(StreamKindTest, IsDecidedByTheDecisiveBytes) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto bytes = wire::RandomBytes(random, kDecisiveBytes);
    EXPECT_NE(KindOf(bytes), StreamKind::kUndecided);
  }
}

TEST(StreamKindTest, HasNames) {
  EXPECT_STREQ(NameOf(StreamKind::kRdma), "RDMA");
  EXPECT_STREQ(NameOf(StreamKind::kIscsi), "iSCSI");
  EXPECT_STREQ(NameOf(StreamKind::kPlain), "plain TCP");
  EXPECT_STREQ(NameOf(StreamKind::kUndecided), "undecided");
}

}  // namespace
}  // namespace verbena::transport
