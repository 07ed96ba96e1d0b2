#include "ibverbs/settings.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

class SettingsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name :
         {"VERBENA_LINK_LAYER", "VERBENA_TRACE", "VERBENA_STATS", "VERBENA_STRICT", "VERBENA_PIN",
          "VERBENA_PAGE_EVENTS", "VERBENA_WINDOWS_ONLY", "VERBENA_MEMORY_BUDGET", "VERBENA_SWAP",
          "VERBENA_MEMORY_BUDGET_STRICT", "VERBENA_LOG", "VERBENA_STAT"}) {
      unsetenv(name);
    }
  }
};

TEST_F(SettingsTest, WithoutAnyVariableAreTheDefaults) {
  const Settings settings = Settings::FromEnvironment();
  EXPECT_EQ(settings.link_layer, LinkLayer::kRoce);
  EXPECT_EQ(settings.trace, "");
  EXPECT_FALSE(settings.strict);
  EXPECT_FALSE(settings.ToOptions().strict);
  EXPECT_FALSE(settings.ToOptions().pin);
  EXPECT_TRUE(settings.ToOptions().remote_through_regions);
  EXPECT_EQ(settings.ToOptions().memory_budget, 0U);
  EXPECT_FALSE(settings.ToOptions().memory_budget_strict);
  EXPECT_EQ(settings.ToOptions().swap, Options().swap);
}

TEST_F(SettingsTest, AreTakenFromTheEnvironment) {
  setenv("VERBENA_LINK_LAYER", "ib", 1);
  setenv("VERBENA_TRACE", "/tmp/x.pcapng", 1);
  setenv("VERBENA_STRICT", "1", 1);
  setenv("VERBENA_PIN", "1", 1);
  setenv("VERBENA_PAGE_EVENTS", "1", 1);
  setenv("VERBENA_WINDOWS_ONLY", "1", 1);
  const Settings settings = Settings::FromEnvironment();
  EXPECT_EQ(settings.link_layer, LinkLayer::kInfiniband);
  EXPECT_EQ(settings.trace, "/tmp/x.pcapng");
  EXPECT_TRUE(settings.ToOptions().strict);
  EXPECT_TRUE(settings.ToOptions().pin);
  EXPECT_TRUE(settings.ToOptions().page_events);
  EXPECT_FALSE(settings.ToOptions().remote_through_regions);
  EXPECT_EQ(settings.ToOptions().trace, "/tmp/x.pcapng");
}

TEST_F(SettingsTest, EachProcessMayHaveItsTrace) {
  setenv("VERBENA_TRACE", "/tmp/x.%p.pcapng", 1);
  EXPECT_EQ(Settings::FromEnvironment().trace, "/tmp/x." + std::to_string(getpid()) + ".pcapng");
}

TEST_F(SettingsTest, ABudgetIsASize) {
  setenv("VERBENA_MEMORY_BUDGET", "64M", 1);
  setenv("VERBENA_SWAP", "/var/tmp", 1);
  setenv("VERBENA_MEMORY_BUDGET_STRICT", "1", 1);
  const Options options = Settings::FromEnvironment().ToOptions();
  EXPECT_EQ(options.memory_budget, 64U << 20);
  EXPECT_EQ(options.swap, "/var/tmp");
  EXPECT_TRUE(options.memory_budget_strict);
  for (const char* const wrong : {"lots", "1000", "-1M"}) {
    setenv("VERBENA_MEMORY_BUDGET", wrong, 1);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Settings::FromEnvironment().memory_budget, 0U);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find(wrong), std::string::npos);
  }
}

TEST_F(SettingsTest, ABudgetAndPinnedMemoryExcludeEachOther) {
  setenv("VERBENA_MEMORY_BUDGET", "64M", 1);
  setenv("VERBENA_PIN", "1", 1);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(Settings::FromEnvironment().pin);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("VERBENA_PIN is left out"),
            std::string::npos);
}

TEST_F(SettingsTest, AnUnknownValueIsReportedAndIgnored) {
  setenv("VERBENA_LINK_LAYER", "token-ring", 1);
  setenv("VERBENA_STRICT", "yes", 1);
  setenv("VERBENA_LOG", "loud", 1);
  setenv("VERBENA_STAT", "1", 1);
  ::testing::internal::CaptureStderr();
  const Settings settings = Settings::FromEnvironment();
  EXPECT_EQ(settings.link_layer, LinkLayer::kRoce);
  EXPECT_FALSE(settings.strict);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("VERBENA_LINK_LAYER is roce or ib, and not 'token-ring'"), std::string::npos);
  EXPECT_NE(said.find("VERBENA_STRICT is 0 or 1, and not 'yes'"), std::string::npos);
  EXPECT_NE(said.find("VERBENA_LOG is error, warning, info or debug, and not 'loud'"),
            std::string::npos);
  EXPECT_NE(said.find("VERBENA_STAT means nothing here"), std::string::npos);
}

}  // namespace
}  // namespace verbena::ibverbs
