#include "verbs/guest.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "host/broker.h"
#include "host/operator_client.h"
#include "tests/support/verbs_world.h"

namespace verbena::verbs {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// A broker on a thread of its own, and contexts of this process that are its guests.
class GuestThreads : public testing::Test {
 protected:
  GuestThreads() {
    std::string folder = "/tmp/verbena-guest-XXXXXX";
    folder_ = mkdtemp(folder.data());
    socket_ = folder_ + "/broker.sock";
    host::BrokerOptions options;
    options.socket = socket_;
    options.arbiter.budget = 8 * kMebibyte;
    thread_ = std::thread([this, broker = std::move(host::Broker::Open(options).value())] {
      while (!stop_) broker->Step(Milliseconds(10));
    });
  }
  ~GuestThreads() override {
    stop_ = true;
    thread_.join();
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] Options GuestOptions() const {
    Options options = VerbsTestOptions();
    options.guest = "test";
    options.guest_min = kMebibyte;
    options.broker = socket_;
    return options;
  }
  [[nodiscard]] host::StatusRowMessage Row() const {
    const auto status = host::QueryStatus(socket_);
    return status && !status->guests.empty() ? status->guests[0] : host::StatusRowMessage();
  }
  static bool Eventually(const std::function<bool()>& condition) {
    for (const Time end = Now() + Seconds(20); Now() < end; usleep(2'000)) {
      if (condition()) return true;
    }
    return condition();
  }

  std::string folder_, socket_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(GuestThreads, OptionsReachTheBroker) {
  Options options = GuestOptions();
  options.guest_min = 2 * kMebibyte;
  options.guest_max = 4 * kMebibyte;
  options.guest_weight = 7;
  const auto context = Context::Open(options);
  ASSERT_TRUE(context) << context.error().text;
  const host::StatusRowMessage row = Row();
  EXPECT_EQ(row.name, "test");
  EXPECT_EQ(row.limits, (host::GuestLimits{2 * kMebibyte, 4 * kMebibyte, 7}));
  EXPECT_GE(row.grant, 2 * kMebibyte);
}

TEST_F(GuestThreads, AGuestNeedsABrokerThatAgrees) {
  Options options = GuestOptions();
  options.broker = folder_ + "/none";
  EXPECT_FALSE(Context::Open(options));
  options = GuestOptions();
  options.guest_min = 9 * kMebibyte;
  const auto refused = Context::Open(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("does not fit"), std::string::npos) << refused.error().text;
  options = GuestOptions();
  options.memory_budget = 4 * kMebibyte;
  EXPECT_FALSE(Context::Open(options));
}

TEST_F(GuestThreads, ManagedMemoryStaysWithinTheGrantAndKeepsItsContents) {
  const auto context = Context::Open(GuestOptions());
  ASSERT_TRUE(context) << context.error().text;
  const auto memory = ManagedMemory::Create(
      *context, {.size = 32 * kMebibyte, .budget = 32 * kMebibyte, .swap = folder_});
  ASSERT_TRUE(memory) << memory.error().text;
  const auto bytes = memory->bytes();
  for (size_t at = 0; at < bytes.size(); at += 4'096) std::memcpy(&bytes[at], &at, sizeof at);
  EXPECT_LE(Row().resident, 8 * kMebibyte);
  EXPECT_TRUE(Eventually([&] { return Row().grant >= 7 * kMebibyte && Row().faults > 0; }));
  for (size_t at = 0; at < bytes.size(); at += 4'096) {
    ASSERT_EQ(std::memcmp(&bytes[at], &at, sizeof at), 0) << at;
  }
  EXPECT_LE(Row().resident, 8 * kMebibyte);
}

TEST_F(GuestThreads, ARegionIsSwappedOutAndBack) {
  const auto context = Context::Open(GuestOptions());
  ASSERT_TRUE(context) << context.error().text;
  const auto memory =
      ManagedMemory::Create(*context, {.size = kMebibyte, .budget = kMebibyte, .swap = folder_});
  ASSERT_TRUE(memory);
  const auto domain = ProtectionDomain::Allocate(*context);
  ASSERT_TRUE(domain);
  const auto region = MemoryRegion::Register(*domain, memory->bytes(), Access::kAll);
  ASSERT_TRUE(region);
  std::memset(memory->bytes().data(), 7, kMebibyte);
  const host::OperateMessage quiesce{.guest = "test", .hold = true};
  ASSERT_TRUE(Eventually([&] { return host::Operate(socket_, quiesce).has_value(); }));
  EXPECT_TRUE(Eventually([&] { return Row().quiesced == 1 && Row().resident == 0; }));
  const host::OperateMessage resume{.kind = host::OperateMessage::Kind::kResume, .guest = "test"};
  EXPECT_TRUE(host::Operate(socket_, resume));
  EXPECT_TRUE(Eventually([&] { return Row().quiesced == 0; }));
  EXPECT_EQ(memory->bytes()[kMebibyte - 1], std::byte{7});
}

TEST_F(GuestThreads, RefusesMoreManagedMemoryThanItsMinimumAllows) {
  const auto context = Context::Open(GuestOptions());
  ASSERT_TRUE(context);
  const auto memory = ManagedMemory::Create(
      *context,
      {.size = 4 * kMebibyte, .budget = 4 * kMebibyte, .page_bytes = 65'536, .swap = folder_});
  ASSERT_FALSE(memory) << "16 pages of 64 KiB are its whole minimum";
  EXPECT_NE(memory.error().text.find("Options::guest_min"), std::string::npos);
}

}  // namespace
}  // namespace verbena::verbs
