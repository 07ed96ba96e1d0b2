// A thousand guests of a mebibyte each, over the real protocol: they share a sixteenth of what they
// have, and the broker serves all of them.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "host/broker.h"

namespace verbena::host {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr size_t kGuests = 1'000;
constexpr uint64_t kBudget = 64 * kMiB;

// Obeys at once, and wants all of its memory.
struct SmallGuest {
  BrokerChannel channel;
  FileDescriptor memory;
  uint64_t grant = 0;
  uint64_t faults = 0;
  bool is_declared = false;

  void Step() {
    while (auto received = channel.Receive()) {
      if (std::holds_alternative<WelcomeMessage>(received->message)) Declare();
      const auto* const given = std::get_if<GrantMessage>(&received->message);
      if (given == nullptr) continue;
      grant = given->bytes;
      const uint64_t held = std::min(grant, kMiB);
      if (held > 0) static_cast<void>(fallocate(memory.get(), 0, 0, static_cast<off_t>(held)));
      if (held < kMiB) {
        static_cast<void>(fallocate(memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    static_cast<off_t>(held), static_cast<off_t>(kMiB - held)));
      }
      static_cast<void>(channel.Send(ObeyedMessage{given->sequence}));
    }
  }
  void Declare() {
    is_declared = true;
    static_cast<void>(channel.Send(MemoryMessage{.number = 1, .bytes = kMiB}, memory.get()));
    static_cast<void>(channel.Send(UseMessage{.use = {.faults = ++faults}}));
  }
  [[nodiscard]] uint64_t resident() const {
    struct stat status {};
    fstat(memory.get(), &status);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  }
};

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
    auto channel = BrokerChannel::Connect(options.socket);
    ASSERT_TRUE(channel) << channel.error().text;
    FileDescriptor memory(memfd_create("guest", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(memory.get(), kMiB), 0);
    guests.push_back({std::move(*channel), std::move(memory)});
    const HelloMessage hello{.name = "guest" + std::to_string(i), .limits = {.min = 64 << 10}};
    ASSERT_EQ(guests.back().channel.Send(hello), BrokerChannel::Status::kDone);
    (*broker)->Step(Duration());
  }
  const auto has_minimum = [](const SmallGuest& guest) { return guest.grant >= 64 << 10; };
  for (const Time end = Now() + Seconds(30);
       Now() < end && !std::ranges::all_of(guests, has_minimum);) {
    (*broker)->Step(Milliseconds(1));
    uint64_t held = 0;
    for (SmallGuest& guest : guests) {
      guest.Step();
      held += guest.resident();
    }
    ASSERT_LE(held, kBudget);
  }
  EXPECT_TRUE(std::ranges::all_of(guests, has_minimum));
  EXPECT_EQ((*broker)->arbiter().guest_count(), kGuests);
  EXPECT_LE((*broker)->arbiter().committed(), kBudget);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace verbena::host
