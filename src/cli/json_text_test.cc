#include "cli/json_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace verbena::cli {
namespace {

const nlohmann::json kJson = {{"list", {1, 2}}, {"text", "a\nb"}};

TEST(JsonTextTest, ALineHasNoLineBreak) {
  EXPECT_EQ(ToLine(kJson), R"({"list":[1,2],"text":"a\nb"})");
}

TEST(JsonTextTest, LinesAreIndented) {
  EXPECT_EQ(ToLines(kJson), "{\n  \"list\": [\n    1,\n    2\n  ],\n  \"text\": \"a\\nb\"\n}");
}

TEST(JsonTextTest, BothFormsParseToTheSameValue) {
  EXPECT_EQ(FromText(ToLine(kJson)), kJson);
  EXPECT_EQ(FromText(ToLines(kJson)), kJson);
}

TEST(JsonTextTest, InvalidJsonIsDiscarded) {
  for (const char* const text : {"", "{", "{\"a\":}", "hello", "{} x"}) {
    EXPECT_TRUE(FromText(text).is_discarded()) << text;
  }
}

}  // namespace
}  // namespace verbena::cli
