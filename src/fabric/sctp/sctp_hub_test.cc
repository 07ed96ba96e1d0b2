#include "fabric/sctp/sctp_hub.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/sctp/sctp_socket.h"

namespace verbena::fabric {
namespace {

const IpAddress kHere = IpAddress::FromIpv4(127, 0, 0, 1);

bool IsReadable(const SctpHub& hub) {
  pollfd file{.fd = hub.fd(), .events = POLLIN, .revents = 0};
  return poll(&file, 1, 0) == 1;
}

TEST(SctpHubTest, AHubWithoutSocketsSleeps) {
  const auto hub = std::move(*SctpHub::Open());
  EXPECT_EQ(hub->next_time(), Time::Never());
  EXPECT_FALSE(hub->has_unacknowledged());
  EXPECT_FALSE(IsReadable(*hub));
  hub->OnTime(Time() + Seconds(5));
  std::array<ReadyId, 4> room;
  EXPECT_EQ(hub->TakeReady(room), 0);
}

TEST(SctpHubTest, ItsDescriptorIsReadableWhileASocketIsReady) {
  const auto hub = std::move(*SctpHub::Open());
  std::vector<SctpSocket> sockets;
  for (uint64_t i = 0; i < 3; ++i) {
    sockets.push_back(std::move(*SctpSocket::Bind(*hub, {.ip = kHere}, 1)));
    const CmAddress nothing{.ip = kHere, .port = 9};
    ASSERT_TRUE(sockets.back().Connect(nothing));
  }
  // Nothing has the port.
  for (int i = 0; i < 1000 && sockets[2].ConnectError() == EINPROGRESS; ++i) {
    pollfd file{.fd = hub->fd(), .events = POLLIN, .revents = 0};
    poll(&file, 1, 5);
    hub->Pump(Time() + Milliseconds(10 * i));
  }
  for (uint64_t i = 0; i < 3; ++i) sockets[i].Watch(ReadyId(10 + i), {.writes = true});
  std::array<ReadyId, 2> room;
  ASSERT_EQ(hub->TakeReady(room), 2);
  EXPECT_EQ(room[0], ReadyId(10));
  EXPECT_TRUE(IsReadable(*hub)) << "one is left";
  ASSERT_EQ(hub->TakeReady(room), 1);
  EXPECT_EQ(room[0], ReadyId(12));
  EXPECT_FALSE(IsReadable(*hub));
  EXPECT_EQ(hub->TakeReady(room), 0);
}

TEST(SctpHubTest, TimersRunSlowlyWhenNothingHappens) {
  const auto hub = std::move(*SctpHub::Open());
  const Time start = Time() + Seconds(100);
  hub->Pump(start);
  const SctpSocket socket = std::move(*SctpSocket::Bind(*hub, {.ip = kHere}, 1));
  EXPECT_EQ(hub->next_time(), start + Milliseconds(250));
  SctpSocket other = std::move(*SctpSocket::Bind(*hub, {.ip = kHere}, 1));
  ASSERT_TRUE(other.Connect(socket.local()));
  EXPECT_EQ(hub->next_time(), start + SctpStack::kTick);
}

}  // namespace
}  // namespace verbena::fabric
