#include "cli/json.h"

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

const nlohmann::json kFields = {{"number", 7U}, {"flag", true}, {"text", "x"}, {"negative", -7}};

TEST(JsonFieldsTest, ReadsNumbersFlagsAndTexts) {
  EXPECT_EQ(NumberAt(kFields, "number"), 7);
  EXPECT_TRUE(FlagAt(kFields, "flag"));
  EXPECT_EQ(TextAt(kFields, "text"), "x");
}

TEST(JsonFieldsTest, AMissingFieldOrAnotherTypeIsEmpty) {
  for (const char* const name : {"absent", "flag", "text", "negative"}) {
    EXPECT_EQ(NumberAt(kFields, name), std::nullopt) << name;
  }
  for (const char* const name : {"absent", "number", "text"}) EXPECT_FALSE(FlagAt(kFields, name));
  for (const char* const name : {"absent", "number", "flag"}) EXPECT_EQ(TextAt(kFields, name), "");
  EXPECT_EQ(NumberAt(nlohmann::json::array(), "number"), std::nullopt);
}

TEST(JsonFieldsTest, NumbersHaveABound) {
  EXPECT_EQ(NumberAt(kFields, "number", 7), 7);
  EXPECT_EQ(NumberAt(kFields, "number", 6), std::nullopt);
}

}  // namespace
}  // namespace verbena::cli
