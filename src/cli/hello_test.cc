#include "cli/hello.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/json.h"

namespace verbena::cli {
namespace {

Hello Example() {
  return {.qps = {{QpNumber{0x123456}, *ParseGid("127.0.0.1"), Psn{7}},
                  {QpNumber{2}, *ParseGid("fd00::1"), Psn{0xFF'FFFF}}},
          .memory = {0xFFFF'FFFF'FFFF'0000, Key{0xFFFF'FFFF}},
          .bytes = 65'536};
}

TEST(HelloTest, ArrivesUnchanged) {
  const auto text = ToLine(ToJson(Example()));
  EXPECT_EQ(HelloFrom(FromText(text)), Example());
}

TEST(HelloTest, AMissingFieldIsInvalid) {
  for (const char* const field : {"qps", "address", "key", "bytes"}) {
    auto json = ToJson(Example());
    json.erase(field);
    EXPECT_EQ(HelloFrom(json), std::nullopt) << field;
  }
  for (const char* const field : {"qp", "gid", "psn"}) {
    auto json = ToJson(Example());
    json["qps"][1].erase(field);
    EXPECT_EQ(HelloFrom(json), std::nullopt) << field;
  }
}

TEST(HelloTest, NumbersThatAreTooLargeAreInvalid) {
  auto json = ToJson(Example());
  json["qps"][0]["qp"] = 0x100'0000U;
  EXPECT_EQ(HelloFrom(json), std::nullopt);
}

}  // namespace
}  // namespace verbena::cli
