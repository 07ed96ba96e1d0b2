#include "wire/mad/private_data.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

TEST(PrivateDataTest, PadsShortDataWithZeros) {
  EXPECT_EQ(PrivateData<4>::From(FromHex("0102")).bytes,
            PrivateData<4>::Load(FromHex("01020000")).bytes);
}

TEST(PrivateDataTest, SurvivesStoreAndLoad) {
  const auto bytes = FromHex("0102030405");
  const auto data = PrivateData<4>::Load(bytes);
  auto stored = FromHex("ffffffffff");
  data.Store(stored);
  EXPECT_EQ(stored, FromHex("01020304ff"));
}

TEST(PrivateDataDeathTest, RefusesDataThatIsTooLong) {
  EXPECT_DEATH((void)PrivateData<1>::From(FromHex("0102")), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
