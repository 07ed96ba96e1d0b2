#include "rdmacm/rsocket/service_thread.h"

#include <atomic>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace verbena::rsockets {
namespace {

struct CountingClient : ServiceClient {
  explicit CountingClient(const EventFile& read) : file(read) {}
  void OnReadable(int fd) override {
    EXPECT_EQ(fd, file.fd());
    static_cast<void>(file.TryWait());
    ++reads;
    while (blocked) std::this_thread::yield();
    ++reads_ended;
  }
  void OnTime() override { ++times; }

  const EventFile& file;
  std::atomic<int> reads = 0, reads_ended = 0, times = 0;
  std::atomic<bool> blocked = false;
};

// The thread never ends, so the object is never destroyed.
ServiceThread& Service() {
  static ServiceThread& service = *new ServiceThread;
  return service;
}

template <class Fn>
bool Eventually(Fn condition) {
  const Time deadline = Now() + Seconds(20);
  while (!condition()) {
    if (Now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class ServiceThreadThreads : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Service().Add(file.fd(), client)); }
  void TearDown() override { Service().Remove(file.fd()); }

  const EventFile file = *EventFile::Open(false);
  const std::shared_ptr<CountingClient> client = std::make_shared<CountingClient>(file);
};

TEST_F(ServiceThreadThreads, CallsTheClientWhenItsFileIsReadable) {
  file.Signal();
  EXPECT_TRUE(Eventually([&] { return client->reads == 1; }));
}

TEST_F(ServiceThreadThreads, DoesNotWaitForAFileWithoutInterest) {
  Service().SetInterest(file.fd(), false);
  file.Signal();
  Service().SetTimer(file.fd(), Now() + Milliseconds(20));
  EXPECT_TRUE(Eventually([&] { return client->times == 1; }));
  EXPECT_EQ(client->reads, 0);
  Service().SetInterest(file.fd(), true);
  EXPECT_TRUE(Eventually([&] { return client->reads == 1; }));
}

TEST_F(ServiceThreadThreads, CallsTheClientAtItsTimeOnce) {
  const Time begin = Now();
  Service().SetTimer(file.fd(), begin + Seconds(100));
  Service().SetTimer(file.fd(), begin + Milliseconds(10));
  EXPECT_TRUE(Eventually([&] { return client->times == 1; }));
  EXPECT_GE(Now() - begin, Milliseconds(10));
  Service().SetTimer(file.fd(), Now() + Milliseconds(5));
  Service().SetTimer(file.fd(), Time::Never());
  file.Signal();
  EXPECT_TRUE(Eventually([&] { return client->reads == 1; }));
  EXPECT_EQ(client->times, 1);
}

TEST_F(ServiceThreadThreads, RemoveWaitsForARunningCall) {
  client->blocked = true;
  file.Signal();
  ASSERT_TRUE(Eventually([&] { return client->reads == 1; }));
  std::thread remover([&] {
    Service().Remove(file.fd());
    EXPECT_EQ(client->reads_ended, 1);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  client->blocked = false;
  remover.join();
  file.Signal();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(client->reads, 1);
}

}  // namespace
}  // namespace verbena::rsockets
