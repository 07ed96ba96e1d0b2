// A thousand guests of a mebibyte each, over the real protocol: they share a sixteenth of what they
// have, and the broker serves all of them.

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "host/broker.h"
#include "tests/support/small_guest.h"

namespace verbena::host {
namespace {

constexpr size_t kGuests = 1'000;
constexpr uint64_t kBudget = uint64_t{64} << 20;

TEST(BrokerCrowd, AThousandGuestsOfAMebibyteShareABudget) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < 6 * kGuests) GTEST_SKIP() << "too few files may be open (ulimit -Hn)";
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  std::string folder = "/tmp/verbena-crowd-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  BrokerOptions options;
  options.socket = folder + "/broker.sock";
  options.arbiter.budget = kBudget;
  const auto broker = Broker::Open(options);
  ASSERT_TRUE(broker) << broker.error().text;
  std::vector<SmallGuest> guests;
  for (size_t i = 0; i < kGuests; ++i) {
    auto guest = SmallGuest::Connect(options.socket, "guest" + std::to_string(i));
    ASSERT_TRUE(guest) << guest.error().text;
    guests.push_back(std::move(*guest));
    (*broker)->Step(Duration());
  }
  const auto all_have_it = [&] { return std::ranges::all_of(guests, &SmallGuest::has_minimum); };
  for (const Time end = Now() + Seconds(30); Now() < end && !all_have_it();) {
    (*broker)->Step(Milliseconds(1));
    uint64_t held = 0;
    for (SmallGuest& guest : guests) {
      guest.Step();
      held += guest.resident();
    }
    ASSERT_LE(held, kBudget);
  }
  EXPECT_TRUE(all_have_it());
  EXPECT_EQ((*broker)->arbiter().guest_count(), kGuests);
  EXPECT_LE((*broker)->arbiter().committed(), kBudget);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace verbena::host
