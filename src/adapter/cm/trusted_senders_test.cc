#include "adapter/cm/trusted_senders.h"

#include <unistd.h>

#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "fabric/udp_socket.h"
#include "tests/support/port_processes.h"

namespace verbena::adapter {
namespace {

constexpr uid_t kOrdinaryUser = 65534, kOtherUser = 65533;

std::vector<uid_t> OwnersIn(const std::string& text, uint16_t port) {
  std::istringstream table(text);
  std::vector<uid_t> owners;
  AddPortOwners(table, port, owners);
  return owners;
}

TEST(TrustedSenders, FindsTheOwnersInTheKernelTable) {
  const std::string table =
      "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
      "timeout\n"
      " 1: 00000000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000  0 7 2 0\n"
      " 2: 0100007F:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  1001  0 7 2 0\n"
      " 3: 00000000:12B8 00000000:0000 07 00000000:00000000 00:00000000 00000000  1002  0 7 2 0\n"
      " 4: 00000000000000000000000000000000:12B7 00000000000000000000000000000000:0000 07 "
      "00000000:00000000 00:00000000 00000000  1003  0 7 2 0\n"
      " 5: 00000000000000000000000001000000:12B7 00000000000000000000000000000000:0000 07 "
      "00000000:00000000 00:00000000 00000000  1004  0 7 2 0\n";
  EXPECT_EQ(OwnersIn(table, 4791), (std::vector<uid_t>{1000, 1003}));
  EXPECT_EQ(OwnersIn(table, 4792), std::vector<uid_t>{1002});
  EXPECT_TRUE(OwnersIn(table, 1).empty());
}

TEST(TrustedSenders, MalformedLinesAreSkippedAndOwnersAreLimited) {
  EXPECT_TRUE(OwnersIn("", 4791).empty());
  EXPECT_TRUE(OwnersIn("\n:12B7\n1: :12B7 a b c d e 5\n1: 00000000 a b c d e 5\n", 4791).empty());
  std::string table;
  for (int i = 0; i < 100; ++i) table += "1: 00000000:12B7 a b c d e 5\n";
  EXPECT_EQ(OwnersIn(table, 4791).size(), TrustedSenders::kOwnersMax);
}

TEST(TrustedSenders, TheSameUserAndRootAreTrusted) {
  TrustedSenders senders(kTestBasePort);
  EXPECT_TRUE(senders.IsTrusted(geteuid(), Time()));
  EXPECT_TRUE(senders.IsTrusted(0, Time()));
  EXPECT_FALSE(senders.IsTrusted(kOtherUser, Time()));
}

// Another user is trusted while it has the port.
TEST(TrustedSenders, TheUserThatHasTheRocePortIsTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  EXPECT_TRUE(IsTrueInChild([] {
    TrustedSenders senders(kTestBasePort);
    if (seteuid(kOtherUser) != 0) return false;
    auto socket = fabric::UdpSocket::Open({});
    if (!socket || !socket->Bind(kTestBasePort)) return false;
    if (seteuid(0) != 0 || seteuid(kOrdinaryUser) != 0) return false;
    return senders.IsTrusted(kOtherUser, Time()) && !senders.IsTrusted(kOtherUser - 1, Time());
  }));
}

TEST(TrustedSenders, TheTableIsReadAtMostEvery100Milliseconds) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  EXPECT_TRUE(IsTrueInChild([] {
    TrustedSenders senders(kTestBasePort);
    const Time start(Seconds(1));
    if (senders.IsTrusted(kOtherUser, start) || seteuid(kOtherUser) != 0) return false;
    auto socket = fabric::UdpSocket::Open({});
    if (!socket || !socket->Bind(kTestBasePort) || seteuid(0) != 0) return false;
    return !senders.IsTrusted(kOtherUser, start + Milliseconds(99)) &&
           senders.IsTrusted(kOtherUser, start + TrustedSenders::kRefresh);
  }));
}

}  // namespace
}  // namespace verbena::adapter
