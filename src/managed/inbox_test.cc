#include "managed/inbox.h"

#include <poll.h>

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::managed {
namespace {

Inbox MakeInbox() { return Inbox(std::move(Inbox::MakeSignal().value())); }

bool IsReadable(const Inbox& inbox) {
  pollfd readable{.fd = inbox.fd(), .events = POLLIN, .revents = 0};
  return poll(&readable, 1, 0) == 1;
}

TEST(Inbox, ReturnsAllInOrder) {
  Inbox inbox = MakeInbox();
  EXPECT_FALSE(IsReadable(inbox));
  for (uint64_t i = 0; i < 3; ++i) inbox.Put({.ticket = i});
  EXPECT_TRUE(IsReadable(inbox));
  std::vector<Request> requests(9);
  EXPECT_TRUE(inbox.Take(requests));
  ASSERT_EQ(requests.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(requests[i].ticket, i);
  EXPECT_FALSE(IsReadable(inbox));
  EXPECT_TRUE(inbox.Take(requests));
  EXPECT_TRUE(requests.empty());
}

TEST(Inbox, SignalsAgainAfterItWasTaken) {
  Inbox inbox = MakeInbox();
  std::vector<Request> requests;
  for (int i = 0; i < 3; ++i) {
    inbox.Put({});
    EXPECT_TRUE(IsReadable(inbox));
    EXPECT_TRUE(inbox.Take(requests));
  }
}

TEST(Inbox, StopIsPermanent) {
  Inbox inbox = MakeInbox();
  inbox.Put({.ticket = 1});
  inbox.PutStop();
  EXPECT_TRUE(IsReadable(inbox));
  std::vector<Request> requests;
  EXPECT_FALSE(inbox.Take(requests));
  EXPECT_EQ(requests.size(), 1u);
  EXPECT_FALSE(inbox.Take(requests));
}

TEST(InboxThreads, NothingIsLostAndNoWakeUpIsMissed) {
  constexpr uint64_t kEach = 5000;
  Inbox inbox = MakeInbox();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&inbox] {
      for (uint64_t i = 0; i < kEach; ++i) inbox.Put({.ticket = i});
    });
  }
  uint64_t count = 0;
  std::vector<Request> requests;
  while (count < 3 * kEach) {
    pollfd readable{.fd = inbox.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&readable, 1, 10'000), 1);
    EXPECT_TRUE(inbox.Take(requests));
    count += requests.size();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 3 * kEach);
}

}  // namespace
}  // namespace verbena::managed
