// The port space between processes.

#include "adapter/cm/port_registry.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/udp_socket.h"
#include "tests/support/port_processes.h"

namespace verbena::adapter {
namespace {

constexpr IpAddress kIpv4 = IpAddress::FromIpv4(10, 0, 0, 1);
constexpr IpAddress kOtherIpv4 = IpAddress::FromIpv4(10, 0, 0, 2);
constexpr IpAddress kIpv6 = {{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr uint16_t kPort = 7471;
constexpr uid_t kOrdinaryUser = 65534, kOtherUser = 65533;

ForwardedMad MadTo(const IpAddress& destination, uint16_t port) {
  return {.service = {wire::IpCmProtocol::kTcp, port}, .destination = destination};
}

size_t OpenFiles() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

TEST(PortRegistryProcesses, BindsConflictAsThoseOfOneProcess) {
  const auto space = OpenTestSpace();
  const PortRequest kinds[] = {
      {.address = kAnyIpv4, .port = kPort},
      {.address = kAnyIpv6, .port = kPort},
      {.address = kAnyIpv6, .port = kPort, .own_family_only = true},
      {.address = kIpv4, .port = kPort},
      {.address = kOtherIpv4, .port = kPort},
      {.address = kIpv6, .port = kPort},
      {.address = kIpv4, .port = kPort, .reuse_address = true},
      {.address = kAnyIpv4, .port = kPort, .reuse_address = true},
  };
  for (const PortRequest& theirs : kinds) {
    const ClaimingProcess other(theirs);
    ASSERT_EQ(other.error(), 0);
    for (const PortRequest& ours : kinds) {
      EXPECT_EQ(ErrnoOf(space->Claim(ours)), AreInConflict(theirs, ours) ? EADDRINUSE : 0)
          << ToString(theirs) << " and " << ToString(ours);
    }
  }
}

TEST(PortRegistryProcesses, APortIsFreeWhenItsProcessIsKilled) {
  const auto space = OpenTestSpace();
  ClaimingProcess other({.address = kIpv4, .port = kPort});
  EXPECT_EQ(ErrnoOf(space->Claim({.port = kPort})), EADDRINUSE);
  other.Kill();
  EXPECT_EQ(ErrnoOf(space->Claim({.port = kPort})), 0);
}

TEST(PortRegistryProcesses, EachBasePortHasItsOwnPortSpace) {
  const ClaimingProcess other({.port = kPort});
  const auto space =
      PortRegistry::Open({.base_port = static_cast<uint16_t>(kTestBasePort + 1), .seed = 1});
  ASSERT_TRUE(space.has_value());
  EXPECT_EQ(ErrnoOf((*space)->Claim({.port = kPort})), 0);
}

TEST(PortRegistryProcesses, BlocksOfEphemeralPortsAreRespected) {
  const auto space = OpenTestSpace();
  ClaimingProcess other({});
  ASSERT_EQ(other.error(), 0);
  ASSERT_TRUE(IsEphemeral(other.port()));
  const uint16_t first = FirstOfBlock(other.port());
  const auto neighbour = static_cast<uint16_t>(first + (other.port() - first + 1) % kBlockPorts);
  EXPECT_EQ(ErrnoOf(space->Claim({.address = kIpv6, .port = neighbour})), EADDRINUSE);
  other.Kill();
  EXPECT_EQ(ErrnoOf(space->Claim({.address = kIpv6, .port = neighbour})), 0);
}

TEST(PortRegistryProcesses, ThousandsOfEphemeralPortsUseFewDescriptors) {
  const auto space = OpenTestSpace();
  const size_t before = OpenFiles();
  std::vector<PortClaim> claims;
  std::vector<bool> is_used(65'536);
  for (int i = 0; i < 4'000; ++i) {
    auto claim = space->Claim({.address = i % 2 == 0 ? kIpv4 : kAnyIpv6});
    ASSERT_TRUE(claim.has_value()) << claim.error().text;
    ASSERT_FALSE(is_used[claim->port()]);
    is_used[claim->port()] = true;
    claims.push_back(std::move(*claim));
  }
  EXPECT_EQ(OpenFiles() - before, 63U);  // 4,000 / 64, rounded up
  claims.clear();
  EXPECT_EQ(OpenFiles() - before, 1U);
}

// The memory that racing processes share.
struct Race {
  std::atomic<int> all{0};       // owners of a wildcard
  std::atomic<int> of_one{0};    // owners of the first address
  std::atomic<int> of_other{0};  // owners of the second
  std::atomic<int> wrong{0};
  std::atomic<int> successes{0};
};

// One attempt, which checks the other owners meanwhile.
void ClaimOnce(PortRegistry& space, Race& race, const PortRequest& request) {
  const auto claim = space.Claim(request);
  if (!claim) {
    if (claim.error().os_error != EADDRINUSE) ++race.wrong;
    return;
  }
  ++race.successes;
  std::atomic<int>& owners = request.is_wildcard()      ? race.all
                             : request.address == kIpv4 ? race.of_one
                                                        : race.of_other;
  if (++owners != 1) ++race.wrong;
  usleep(50);
  const bool is_alone =
      request.is_wildcard() ? race.of_one == 0 && race.of_other == 0 : race.all == 0;
  if (!is_alone) ++race.wrong;
  --owners;
}

// Six children claim until 200 claims have succeeded; failures do not count. Counts the owners.
void RunRace(const std::vector<PortRequest>& requests) {
  constexpr int kProcesses = 6, kSuccesses = 200;
  void* const memory =
      mmap(nullptr, sizeof(Race), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Race& race = *new (memory) Race;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const auto space = OpenTestSpace(static_cast<uint64_t>(i) + 1);
      for (int n = 0; race.successes < kSuccesses; ++n) {
        ClaimOnce(*space, race, requests[static_cast<size_t>(i + n) % requests.size()]);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(race.wrong, 0);
  munmap(memory, sizeof(Race));
}

TEST(PortRegistryProcesses, OnlyOneOfRacingProcessesGetsAPort) {
  RunRace({{.address = kAnyIpv4, .port = kPort}});
}

TEST(PortRegistryProcesses, OnlyOneOfRacingProcessesWithWildcardsAndAddressesGetsThePort) {
  RunRace({{.address = kAnyIpv4, .port = kPort},
           {.address = kIpv4, .port = kPort},
           {.address = kAnyIpv6, .port = kPort},
           {.address = kOtherIpv4, .port = kPort},
           {.address = kIpv4, .port = kPort}});
}

// Waits for a datagram, in the process that it is forwarded to.
bool ReceivesOne(PortRegistry& space) {
  pollfd file{.fd = space.fd(), .events = POLLIN, .revents = 0};
  if (poll(&file, 1, 5'000) != 1) return false;
  int heard = 0;
  space.Receive(Time(),
                [&](const ForwardedMad& mad) { heard += mad.service.port == kPort ? 1 : 0; });
  return heard == 1;
}

TEST(PortRegistryProcesses, ADatagramReachesTheProcessThatHasThePort) {
  const auto space = OpenTestSpace();
  for (const PortRequest& request : {PortRequest{.address = kAnyIpv6, .port = kPort},
                                     PortRequest{.address = kIpv4, .port = kPort}}) {
    EXPECT_EQ(space->Forward(MadTo(kIpv4, kPort)), ForwardResult::kNoListener);
    EXPECT_TRUE(IsTrueInChild([&] {
      const auto own = OpenTestSpace(2);
      const auto claim = own->Claim(request);
      return claim && IsTrueInChild([&] {
               return OpenTestSpace(3)->Forward(MadTo(kIpv4, kPort)) == ForwardResult::kForwarded;
             }) &&
             ReceivesOne(*own);
    }));
  }
}

TEST(PortRegistryProcesses, AListenerOnAnEphemeralPortIsReached) {
  const auto space = OpenTestSpace();
  const auto claim = space->Claim({.address = kAnyIpv6});
  ASSERT_TRUE(claim.has_value());
  EXPECT_TRUE(IsTrueInChild([&] {
    return OpenTestSpace(2)->Forward(MadTo(kIpv4, claim->port())) == ForwardResult::kForwarded;
  }));
  int heard = 0;
  space->Receive(
      Time(), [&](const ForwardedMad& mad) { heard += mad.service.port == claim->port() ? 1 : 0; });
  EXPECT_EQ(heard, 1);
}

TEST(PortRegistryProcesses, ASharedPortHasAMailboxWhenItListens) {
  const auto space = OpenTestSpace();
  auto claim = space->Claim({.port = kPort, .reuse_address = true});
  ASSERT_TRUE(claim.has_value());
  EXPECT_EQ(space->Forward(MadTo(kIpv4, kPort)), ForwardResult::kNoListener);
  ASSERT_TRUE(claim->MakeExclusive().has_value());
  EXPECT_EQ(space->Forward(MadTo(kIpv4, kPort)), ForwardResult::kForwarded);
  EXPECT_TRUE(ReceivesOne(*space));
}

// The user that has the RoCEv2 port can forward to processes of other users; another user cannot.
TEST(PortRegistryProcesses, TheUserWithTheRocePortReachesAllMailboxes) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  EXPECT_TRUE(IsTrueInChild([] {
    const auto space = OpenTestSpace();
    const auto claim = space->Claim({.port = kPort});
    if (!claim || seteuid(kOrdinaryUser) != 0) return false;
    const auto forward = [](bool with_port) {
      return seteuid(0) == 0 && setuid(kOtherUser) == 0 && [&] {
        auto socket = fabric::UdpSocket::Open({});
        if (with_port && !(socket && socket->Bind(kTestBasePort))) return false;
        if (OpenTestSpace(2)->Forward(MadTo(kIpv4, kPort)) != ForwardResult::kForwarded)
          return false;
        if (with_port) pause();
        return true;
      }();
    };
    if (!IsTrueInChild([&] { return forward(false); }) || ReceivesOne(*space)) return false;
    const pid_t child = fork();
    if (child == 0) _exit(forward(true) ? 0 : 1);
    pollfd file{.fd = space->fd(), .events = POLLIN, .revents = 0};
    int heard = 0;
    const bool is_readable = poll(&file, 1, 5'000) == 1;
    space->Receive(Time(Seconds(1)), [&](const ForwardedMad&) { ++heard; });
    seteuid(0);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return is_readable && heard == 1 && space->counters().untrusted == 1;
  }));
}

}  // namespace
}  // namespace verbena::adapter
