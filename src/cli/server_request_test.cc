#include "cli/server_request.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/json.h"

namespace verbena::cli {
namespace {

constexpr ServerRequest kExample{.type = QpType::kUd,
                                 .qps = 3,
                                 .receives = 17,
                                 .window = 1 << 20,
                                 .message = 100,
                                 .echo = true,
                                 .sleeps = true,
                                 .mtu = PathMtu::k4096};

TEST(ServerRequestTest, ArrivesUnchanged) {
  EXPECT_EQ(ServerRequestFrom(FromText(ToLine(ToJson(kExample)))), kExample);
  EXPECT_EQ(ServerRequestFrom(FromText(ToLine(ToJson(ServerRequest{})))), ServerRequest{});
}

TEST(ServerRequestTest, AFieldOutOfRangeOrMissingIsRefused) {
  for (const char* const field : {"qps", "receives", "window", "message", "mtu", "type"}) {
    auto json = ToJson(kExample);
    json[field] = uint64_t{1} << 40;
    EXPECT_EQ(ServerRequestFrom(json), std::nullopt) << field;
    json.erase(field);
    EXPECT_EQ(ServerRequestFrom(json), std::nullopt) << field;
  }
  for (const char* const field : {"qps", "receives", "mtu"}) {
    auto json = ToJson(kExample);
    json[field] = 0U;
    EXPECT_EQ(ServerRequestFrom(json), std::nullopt) << field;
  }
}

}  // namespace
}  // namespace verbena::cli
