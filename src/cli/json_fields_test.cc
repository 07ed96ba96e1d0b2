#include "cli/json_fields.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace verbena::cli {
namespace {

const nlohmann::json kJson = {{"number", 7U}, {"flag", true}, {"text", "x"}, {"negative", -7}};

TEST(JsonFieldsTest, ReadsNumbersFlagsAndTexts) {
  EXPECT_EQ(NumberAt(kJson, "number"), 7);
  EXPECT_TRUE(FlagAt(kJson, "flag"));
  EXPECT_EQ(TextAt(kJson, "text"), "x");
}

TEST(JsonFieldsTest, AMissingFieldOrAnotherTypeIsEmpty) {
  for (const char* const name : {"absent", "flag", "text", "negative"}) {
    EXPECT_EQ(NumberAt(kJson, name), std::nullopt) << name;
  }
  for (const char* const name : {"absent", "number", "text"}) EXPECT_FALSE(FlagAt(kJson, name));
  for (const char* const name : {"absent", "number", "flag"}) EXPECT_EQ(TextAt(kJson, name), "");
  EXPECT_EQ(NumberAt(nlohmann::json::array(), "number"), std::nullopt);
}

TEST(JsonFieldsTest, NumbersHaveABound) {
  EXPECT_EQ(NumberAt(kJson, "number", 7), 7);
  EXPECT_EQ(NumberAt(kJson, "number", 6), std::nullopt);
}

}  // namespace
}  // namespace verbena::cli
