#include "adapter/cm/mad_mailbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "adapter/cm/abstract_name.h"
#include "adapter/cm/name_lock.h"
#include "tests/support/port_processes.h"

namespace verbena::adapter {
namespace {

using wire::IpCmProtocol;

constexpr wire::IpCmService kService{IpCmProtocol::kTcp, 7471};
constexpr wire::IpCmService kEphemeral{IpCmProtocol::kTcp, 40'001};
constexpr IpAddress kIpv4 = IpAddress::FromIpv4(10, 0, 0, 1);
constexpr IpAddress kIpv6 = {{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr uid_t kOrdinaryUser = 65534, kOtherUser = 65533;

ForwardedMad MadTo(const IpAddress& destination, const wire::IpCmService& service = kService) {
  return {.service = service,
          .source = IpAddress::FromIpv4(10, 0, 0, 9),
          .destination = destination,
          .source_qp = QpNumber(1),
          .source_port = 4791,
          .mad = {std::byte{7}}};
}

class MadMailboxTest : public ::testing::Test {
 protected:
  void Open(const std::string& name, const MailboxPorts& ports) {
    auto lock = NameLock::Acquire(name, LockMode::kExclusive, random_);
    ASSERT_TRUE(lock.has_value());
    ASSERT_TRUE(mailboxes_.Add(lock->fd(), ports).has_value());
    locks_.push_back(std::move(*lock));
  }
  void OpenIpv4() { Open(names_.OfIpv4(kService), {kService.protocol, kService.port}); }

  bool IsReadable() const {
    pollfd file{.fd = mailboxes_.fd(), .events = POLLIN, .revents = 0};
    return poll(&file, 1, 0) == 1;
  }
  std::vector<ForwardedMad> Receive() {
    std::vector<ForwardedMad> mads;
    mailboxes_.Receive(Time(), [&](const ForwardedMad& mad) { mads.push_back(mad); });
    return mads;
  }
  // Sends any bytes to the mailbox of all IPv4 addresses, with or without a descriptor.
  bool SendRaw(std::vector<std::byte> bytes, bool with_file = false) const {
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const AbstractName name(names_.OfIpv4(kService));
    iovec place{.iov_base = bytes.data(), .iov_len = bytes.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_name = const_cast<sockaddr*>(name.get());
    message.msg_namelen = name.size();
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    if (with_file) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      *header = {
          .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
      const int file = 0;
      std::memcpy(CMSG_DATA(header), &file, sizeof file);
    }
    return sendmsg(socket.get(), &message, MSG_DONTWAIT) >= 0;
  }

  const PortNames names_{kTestBasePort};
  Random random_{1};
  MadMailboxes mailboxes_{std::move(*MadMailboxes::Open(kTestBasePort))};
  const MadForwarder forwarder_{std::move(*MadForwarder::Open(kTestBasePort))};
  std::vector<NameLock> locks_;
};

std::vector<std::byte> BytesOf(const ForwardedMad& mad) {
  std::vector<std::byte> bytes(ForwardedMad::kSize);
  mad.Serialize(bytes);
  return bytes;
}

TEST_F(MadMailboxTest, ADatagramArrivesUnchanged) {
  EXPECT_EQ(forwarder_.Forward(MadTo(kIpv4)), ForwardResult::kNoListener);
  OpenIpv4();
  EXPECT_FALSE(IsReadable());
  EXPECT_EQ(forwarder_.Forward(MadTo(kIpv4)), ForwardResult::kForwarded);
  EXPECT_TRUE(IsReadable());
  EXPECT_EQ(Receive(), std::vector{MadTo(kIpv4)});
  EXPECT_FALSE(IsReadable());
  EXPECT_EQ(mailboxes_.counters().received, 1U);
}

TEST_F(MadMailboxTest, TheMailboxOfAnAddressHasPrecedenceOverTheWildcard) {
  OpenIpv4();
  EXPECT_EQ(forwarder_.Forward(MadTo(kIpv6)), ForwardResult::kNoListener) << "another family";
  Open(names_.OfAddress(kService, kIpv4), {kService.protocol, kService.port});
  EXPECT_EQ(forwarder_.Forward(MadTo(kIpv4)), ForwardResult::kForwarded);
  mailboxes_.Remove(locks_.back().fd());
  EXPECT_TRUE(Receive().empty()) << "it is in that of the address";
  Open(names_.OfIpv6(kService), {kService.protocol, kService.port});
  EXPECT_EQ(forwarder_.Forward(MadTo(kIpv6)), ForwardResult::kForwarded);
  EXPECT_EQ(Receive(), std::vector{MadTo(kIpv6)});
}

TEST_F(MadMailboxTest, ABlockHasOneMailboxForAllPorts) {
  Open(names_.OfBlock(kEphemeral),
       {kEphemeral.protocol, FirstOfBlock(kEphemeral.port), kBlockPorts});
  EXPECT_EQ(forwarder_.Forward(MadTo(kIpv4, kEphemeral)), ForwardResult::kForwarded);
  EXPECT_EQ(Receive(), std::vector{MadTo(kIpv4, kEphemeral)});
  EXPECT_EQ(forwarder_.Forward(MadTo(kIpv4, {IpCmProtocol::kUdp, kEphemeral.port})),
            ForwardResult::kNoListener);
  EXPECT_EQ(forwarder_.Forward(MadTo(kIpv4, {IpCmProtocol::kTcp, 40'064})),
            ForwardResult::kNoListener);
}

TEST_F(MadMailboxTest, AGivenEphemeralPortIsFound) {
  Open(names_.OfIpv4(kEphemeral), {kEphemeral.protocol, kEphemeral.port});
  EXPECT_EQ(forwarder_.Forward(MadTo(kIpv4, kEphemeral)), ForwardResult::kForwarded);
  EXPECT_EQ(Receive().size(), 1U);
}

TEST_F(MadMailboxTest, AFullMailboxIsReportedAndReadInBursts) {
  OpenIpv4();
  size_t sent = 0;
  ForwardResult result = ForwardResult::kForwarded;
  while (sent < 10'000 &&
         (result = forwarder_.Forward(MadTo(kIpv4))) == ForwardResult::kForwarded) {
    ++sent;
  }
  EXPECT_EQ(result, ForwardResult::kFull);
  size_t received = 0;
  while (IsReadable()) {
    const size_t burst = Receive().size();
    ASSERT_GT(burst, 0U);
    EXPECT_LE(burst, size_t{MadMailboxes::kMadsPerMailbox});
    received += burst;
  }
  EXPECT_EQ(received, sent);
  EXPECT_EQ(forwarder_.Forward(MadTo(kIpv4)), ForwardResult::kForwarded);
}

TEST_F(MadMailboxTest, MalformedDatagramsAreCountedAndDropped) {
  OpenIpv4();
  std::vector<std::byte> longer = BytesOf(MadTo(kIpv4));
  longer.push_back({});
  ASSERT_TRUE(SendRaw({}));
  ASSERT_TRUE(SendRaw(std::vector<std::byte>(ForwardedMad::kSize)));
  ASSERT_TRUE(SendRaw(longer));
  ASSERT_TRUE(SendRaw(BytesOf(MadTo(kIpv4, {IpCmProtocol::kTcp, 7472})))) << "another's port";
  ASSERT_TRUE(SendRaw(BytesOf(MadTo(kIpv4, {IpCmProtocol::kUdp, 7471}))));
  ASSERT_TRUE(SendRaw(BytesOf(MadTo(kIpv4))));
  EXPECT_EQ(Receive().size(), 1U);
  EXPECT_EQ(mailboxes_.counters().malformed, 5U);
}

TEST_F(MadMailboxTest, DescriptorsOfASenderAreNotAccepted) {
  OpenIpv4();
  const int before = dup(0);
  close(before);
  ASSERT_TRUE(SendRaw(BytesOf(MadTo(kIpv4)), true));
  EXPECT_TRUE(Receive().empty());
  EXPECT_EQ(mailboxes_.counters().malformed, 1U);
  const int after = dup(0);
  close(after);
  EXPECT_EQ(before, after) << "the first free descriptor is the same";
}

TEST_F(MadMailboxTest, DatagramsOfOtherUsersAreCountedAndDropped) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  EXPECT_TRUE(IsTrueInChild([&] {
    if (seteuid(kOrdinaryUser) != 0) return false;  // user of the mailbox
    OpenIpv4();
    const bool is_sent = IsTrueInChild([&] {
      return seteuid(0) == 0 && setuid(kOtherUser) == 0 &&
             forwarder_.Forward(MadTo(kIpv4)) == ForwardResult::kForwarded;
    });
    const bool is_sent_by_user = IsTrueInChild([&] {
      return seteuid(0) == 0 && setuid(kOrdinaryUser) == 0 &&
             forwarder_.Forward(MadTo(kIpv4)) == ForwardResult::kForwarded;
    });
    const bool is_sent_by_root = forwarder_.Forward(MadTo(kIpv4)) == ForwardResult::kForwarded;
    return is_sent && is_sent_by_user && is_sent_by_root && Receive().size() == 2 &&
           mailboxes_.counters().untrusted == 1;
  }));
}

}  // namespace
}  // namespace verbena::adapter
