#include "transport/iwarp/iscsi_refusal.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::transport {
namespace {

using wire::FromHex;

TEST(IscsiRefusalTest, RepeatsWhatIdentifiesTheLogin) {
  // CSG 1, ISID, TSIH, task tag, CID, CmdSN, ExpStatSN.
  const auto request = FromHex(
      "43 87 0000 00 00012c 40000137ab01 0000 0badcafe 0007 0000 00000011 00000022 "
      "00000000000000000000000000000000");
  const auto response =
      RefuseIscsiLogin(std::span(request).first<kIscsiHeaderBytes>(), IscsiStatus::kOutOfResources);
  const auto expected = FromHex(
      "23 04 0000 00 000000 40000137ab01 0000 0badcafe 00000000 00000022 00000011 00000011 "
      "0302 00000000000000000000");
  EXPECT_TRUE(std::ranges::equal(response, expected));
}

}  // namespace
}  // namespace verbena::transport
