#include "ibverbs/settings.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

Settings FromEnvironment() { return Settings::FromEnvironment(TransportType::kRoce); }

class SettingsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name :
         {"VERBENA_LINK_LAYER", "VERBENA_TRACE", "VERBENA_STATS", "VERBENA_STRICT", "VERBENA_PIN",
          "VERBENA_PAGE_EVENTS", "VERBENA_WINDOWS_ONLY", "VERBENA_ONE_TOUCH_WINDOWS",
          "VERBENA_MEMORY_BUDGET", "VERBENA_SWAP", "VERBENA_TRANSPORT",
          "VERBENA_MEMORY_BUDGET_STRICT", "VERBENA_LOG", "VERBENA_STAT", "VERBENA_CACHE",
          "VERBENA_MPA_REVISION", "VERBENA_MPA_CRC"}) {
      unsetenv(name);
    }
  }
};

TEST_F(SettingsTest, WithoutVariablesTheDefaultsApply) {
  const Settings settings = FromEnvironment();
  EXPECT_EQ(settings.link_layer, LinkLayer::kRoce);
  EXPECT_EQ(settings.trace, "");
  EXPECT_FALSE(settings.strict);
  EXPECT_FALSE(settings.one_touch_windows);
  EXPECT_FALSE(settings.ToOptions().strict);
  EXPECT_FALSE(settings.ToOptions().pin);
  EXPECT_TRUE(settings.ToOptions().remote_through_regions);
  EXPECT_EQ(settings.ToOptions().memory_budget, 0U);
  EXPECT_FALSE(settings.ToOptions().memory_budget_strict);
  EXPECT_EQ(settings.ToOptions().swap, Options().swap);
}

TEST_F(SettingsTest, SettingsComeFromTheEnvironment) {
  setenv("VERBENA_LINK_LAYER", "ib", 1);
  setenv("VERBENA_TRACE", "/tmp/x.pcapng", 1);
  setenv("VERBENA_STRICT", "1", 1);
  setenv("VERBENA_PIN", "1", 1);
  setenv("VERBENA_PAGE_EVENTS", "1", 1);
  setenv("VERBENA_WINDOWS_ONLY", "1", 1);
  setenv("VERBENA_ONE_TOUCH_WINDOWS", "1", 1);
  const Settings settings = FromEnvironment();
  EXPECT_EQ(settings.link_layer, LinkLayer::kInfiniband);
  EXPECT_EQ(settings.trace, "/tmp/x.pcapng");
  EXPECT_TRUE(settings.ToOptions().strict);
  EXPECT_TRUE(settings.ToOptions().pin);
  EXPECT_TRUE(settings.ToOptions().page_events);
  EXPECT_FALSE(settings.ToOptions().remote_through_regions);
  EXPECT_TRUE(settings.one_touch_windows);
  EXPECT_EQ(settings.ToOptions().trace, "/tmp/x.pcapng");
}

TEST_F(SettingsTest, AnIwarpDeviceHasNoLid) {
  setenv("VERBENA_LINK_LAYER", "ib", 1);
  for (const TransportType transport : {TransportType::kIwarp, TransportType::kIwarpSctp}) {
    const Settings settings = Settings::FromEnvironment(transport);
    EXPECT_EQ(settings.ToOptions().transport, transport);
    EXPECT_EQ(settings.link_layer, LinkLayer::kRoce);
  }
}

TEST_F(SettingsTest, TransportsAreTheDevicesInTheirOrder) {
  using enum TransportType;
  const auto transports = [](const char* value) {
    setenv("VERBENA_TRANSPORT", value, 1);
    return TransportsFromEnvironment();
  };
  EXPECT_EQ(TransportsFromEnvironment(), std::vector{kRoce});
  EXPECT_EQ(transports("roce"), std::vector{kRoce});
  EXPECT_EQ(transports("iwarp"), std::vector{kIwarp});
  EXPECT_EQ(transports("roce,iwarp"), (std::vector{kRoce, kIwarp}));
  EXPECT_EQ(transports("iwarp,roce"), (std::vector{kIwarp, kRoce}));
  EXPECT_EQ(transports("iwarp-sctp"), std::vector{kIwarpSctp});
  EXPECT_EQ(transports("roce,iwarp-sctp"), (std::vector{kRoce, kIwarpSctp}));
  EXPECT_EQ(transports("iwarp-sctp,roce"), (std::vector{kIwarpSctp, kRoce}));
}

TEST_F(SettingsTest, WhatIsNoTransportIsRoce) {
  for (const char* const value :
       {"carrier-pigeon", "iwarp,iwarp-sctp", "roce,roce", "roce,", ","}) {
    setenv("VERBENA_TRANSPORT", value, 1);
    EXPECT_EQ(TransportsFromEnvironment(), std::vector{TransportType::kRoce}) << value;
  }
}

TEST_F(SettingsTest, TheSetUpOfIwarpConnectionsIsAChoice) {
  EXPECT_EQ(Settings::FromEnvironment(TransportType::kIwarp).ToOptions().mpa_revision, 2);
  EXPECT_TRUE(Settings::FromEnvironment(TransportType::kIwarp).ToOptions().mpa_crc);
  setenv("VERBENA_MPA_REVISION", "1", 1);
  setenv("VERBENA_MPA_CRC", "off", 1);
  EXPECT_EQ(Settings::FromEnvironment(TransportType::kIwarp).ToOptions().mpa_revision, 1);
  EXPECT_FALSE(Settings::FromEnvironment(TransportType::kIwarp).ToOptions().mpa_crc);
  setenv("VERBENA_MPA_REVISION", "3", 1);
  setenv("VERBENA_MPA_CRC", "0", 1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Settings::FromEnvironment(TransportType::kIwarp).mpa_revision, 2);
  EXPECT_TRUE(Settings::FromEnvironment(TransportType::kIwarp).mpa_crc);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("VERBENA_MPA_REVISION must be 1 or 2, not '3'"), std::string::npos);
  EXPECT_NE(said.find("VERBENA_MPA_CRC must be on or off, not '0'"), std::string::npos);
}

TEST_F(SettingsTest, ThePercentPOfATraceIsTheProcess) {
  setenv("VERBENA_TRACE", "/tmp/x.%p.pcapng", 1);
  EXPECT_EQ(FromEnvironment().trace, "/tmp/x." + std::to_string(getpid()) + ".pcapng");
}

TEST_F(SettingsTest, ABudgetIsASize) {
  setenv("VERBENA_MEMORY_BUDGET", "64M", 1);
  setenv("VERBENA_SWAP", "/var/tmp", 1);
  setenv("VERBENA_MEMORY_BUDGET_STRICT", "1", 1);
  const Options options = FromEnvironment().ToOptions();
  EXPECT_EQ(options.memory_budget, 64U << 20);
  EXPECT_EQ(options.swap, "/var/tmp");
  EXPECT_TRUE(options.memory_budget_strict);
  for (const char* const wrong : {"lots", "1000", "-1M"}) {
    setenv("VERBENA_MEMORY_BUDGET", wrong, 1);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(FromEnvironment().memory_budget, 0U);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find(wrong), std::string::npos);
  }
}

TEST_F(SettingsTest, ABudgetTurnsPinningOff) {
  setenv("VERBENA_MEMORY_BUDGET", "64M", 1);
  setenv("VERBENA_PIN", "1", 1);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(FromEnvironment().pin);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("VERBENA_PIN is ignored"),
            std::string::npos);
}

TEST_F(SettingsTest, ACacheHasASize) {
  EXPECT_EQ(FromEnvironment().cache_bytes, 0U);
  setenv("VERBENA_CACHE", "1", 1);
  EXPECT_EQ(FromEnvironment().cache_bytes, uint64_t{4} << 30);
  EXPECT_FALSE(FromEnvironment().page_events);
  setenv("VERBENA_PIN", "1", 1);
  EXPECT_TRUE(FromEnvironment().page_events) << "pins memory again that is mapped again";
  setenv("VERBENA_CACHE", "64M", 1);
  EXPECT_EQ(FromEnvironment().cache_bytes, 64U << 20);
  unsetenv("VERBENA_PIN");
  ::testing::internal::CaptureStderr();
  setenv("VERBENA_CACHE", "much", 1);
  EXPECT_EQ(FromEnvironment().cache_bytes, 0U);
  setenv("VERBENA_CACHE", "64M", 1);
  setenv("VERBENA_MEMORY_BUDGET", "64M", 1);
  EXPECT_EQ(FromEnvironment().cache_bytes, 0U);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("not 'much'"), std::string::npos);
  EXPECT_NE(said.find("VERBENA_CACHE is ignored"), std::string::npos);
}

TEST_F(SettingsTest, AnUnknownValueIsReportedAndIgnored) {
  setenv("VERBENA_LINK_LAYER", "token-ring", 1);
  setenv("VERBENA_STRICT", "yes", 1);
  setenv("VERBENA_LOG", "loud", 1);
  setenv("VERBENA_STAT", "1", 1);
  ::testing::internal::CaptureStderr();
  const Settings settings = FromEnvironment();
  EXPECT_EQ(settings.link_layer, LinkLayer::kRoce);
  EXPECT_FALSE(settings.strict);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("VERBENA_LINK_LAYER must be roce or ib, not 'token-ring'"),
            std::string::npos);
  EXPECT_NE(said.find("VERBENA_STRICT must be 0 or 1, not 'yes'"), std::string::npos);
  EXPECT_NE(said.find("VERBENA_LOG must be error, warning, info or debug, not 'loud'"),
            std::string::npos);
  EXPECT_NE(said.find("VERBENA_STAT is not a variable of Verbena"), std::string::npos);
}

}  // namespace
}  // namespace verbena::ibverbs
