// Which processes may send to a queue pair: a successor at the endpoint of a process that died, and
// another process with a socket of its own.

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/socket_address.h"
#include "tests/support/adapter_world.h"
#include "tests/support/wire_packets.h"
#include "wire/roce/packet.h"

namespace verbena::adapter {
namespace {
using queue::SendOpcode;

constexpr const char* kAddress = "127.0.0.1";
constexpr uint64_t kMessage = 64;

// Retries end after some milliseconds.
constexpr TestLink kImpatient{.timeout = 8, .retry_count = 3};

AdapterOptions Seeded(uint64_t seed) {
  static const AdapterOptions options = TestOptions();  // shared with children
  AdapterOptions seeded = options;
  seeded.identity_seed = seed;
  return seeded;
}

// Another process with one queue pair, until it is killed.
class DoomedProcess {
 public:
  explicit DoomedProcess(const AdapterOptions& options) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    child_ = fork();
    if (child_ == 0) Live(options, ends[1]);
    uint32_t number = 0;
    EXPECT_EQ(read(ends[0], &number, sizeof number), ssize_t{sizeof number});
    qp_ = QpNumber(number);
    close(ends[0]);
    close(ends[1]);
  }
  DoomedProcess(const DoomedProcess&) = delete;
  DoomedProcess& operator=(const DoomedProcess&) = delete;
  ~DoomedProcess() { Kill(); }

  void Kill() {
    if (child_ == 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  QpNumber qp() const { return qp_; }

 private:
  [[noreturn]] static void Live(const AdapterOptions& options, int out) {
    TestNode node(kAddress, 4'096, options);
    const uint32_t number = node.MakeQp(QpType::kRc).number().value();
    if (write(out, &number, sizeof number) != sizeof number) _exit(1);
    while (true) pause();
  }

  pid_t child_ = 0;
  QpNumber qp_;
};

void Send(TestNode& from, QueuePair& qp, uint8_t seed) {
  from.Fill(0, kMessage, seed);
  Post(from, qp, MakeSend(SendOpcode::kSend, 1), from.Bytes(0, kMessage));
}

// The successor has the endpoint, the queue pair number and the sequence numbers of the dead
// process; its peer is another process on the same machine.
void ExpectNoPacketReachesTheSuccessor(QpType type) {
  const AdapterOptions identity = Seeded(7);
  DoomedProcess dead(identity);
  TestNode stale(kAddress, 4'096, Seeded(8));
  QueuePair& stale_qp = stale.MakeQp(type);
  Succeed(ToInit(stale, stale_qp));
  Succeed(ToRtr(stale, stale_qp, PathFrom(stale, stale), dead.qp(), kImpatient));
  Succeed(ToRts(stale, stale_qp, kImpatient));
  dead.Kill();

  TestNode successor(kAddress, 4'096, identity), peer(kAddress, 4'096, Seeded(9));
  QueuePair& successor_qp = successor.MakeQp(type);
  ASSERT_EQ(successor_qp.number(), dead.qp()) << "the scenario needs the same identity";
  QueuePair& peer_qp = peer.MakeQp(type);
  Connect(peer, peer_qp, successor, successor_qp);
  successor.Fill(0, kMessage, 0);
  PostReceive(successor, successor_qp, 5, successor.Bytes(0, kMessage));

  Send(stale, stale_qp, 0xAA);
  const auto ended = stale.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, transport::IsReliable(type) ? CompletionStatus::kRetryExceeded
                                                       : CompletionStatus::kSuccess);
  EXPECT_FALSE(successor.Wait(nullptr, Milliseconds(50)).has_value());
  EXPECT_GE(successor.adapter().Query()->port.dropped_for(Drop::kWrongPort), 1U);
  EXPECT_TRUE(successor.Holds(0, kMessage, 0));

  Send(peer, peer_qp, 0x55);
  const auto received = successor.Wait();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->status, CompletionStatus::kSuccess);
  EXPECT_TRUE(successor.Holds(0, kMessage, 0x55));
}

TEST(IdentityProcesses, RcPacketsToADeadProcessDoNotReachItsSuccessor) {
  ExpectNoPacketReachesTheSuccessor(QpType::kRc);
}

TEST(IdentityProcesses, UcPacketsToADeadProcessDoNotReachItsSuccessor) {
  ExpectNoPacketReachesTheSuccessor(QpType::kUc);
}

// Sends empty messages with a correct ICRC, with each sequence number from `first` on.
[[noreturn]] void Sweep(uint16_t to_port, QpNumber to, Psn first, uint32_t count) {
  constexpr uid_t kOtherUser = 65'534;
  if (getuid() == 0 && setuid(kOtherUser) != 0) _exit(1);
  const fabric::FileDescriptor file(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto local = IpAddress::FromIpv4(127, 0, 0, 1);
  fabric::SocketAddress name(fabric::SocketFamily::kIpv4, {local, 0});
  if (bind(file.get(), name.get(), name.size()) != 0) _exit(1);
  socklen_t size = name.size();
  getsockname(file.get(), name.get(), &size);
  const fabric::SocketAddress target(fabric::SocketFamily::kIpv4, {local, to_port});
  const wire::UdpFlow flow{.source = TestIp(kAddress),
                           .destination = TestIp(kAddress),
                           .source_port = name.endpoint()->port,
                           .destination_port = to_port};
  wire::Bth bth{
      .opcode = wire::FindOpcode(wire::Service::kRc, wire::Operation::kSend, wire::Position::kOnly)
                    ->opcode,
      .dest_qp = to};
  for (uint32_t i = 0; i < count; ++i) {
    bth.psn = first + i;
    std::vector<std::byte> bytes = wire::BuildPacket(bth, {});
    wire::Seal(flow.HeadersFor(bytes.size()).bytes(), bytes);
    sendto(file.get(), bytes.data(), bytes.size(), 0, target.get(), target.size());
    if (i % 64 == 0) usleep(1'000);  // packets that overflow the victim's socket test nothing
  }
  _exit(0);
}

TEST(IdentityProcesses, AnotherUserCannotReachAConnectionWithRightSequenceNumbers) {
  TestNode a(kAddress, 4'096, Seeded(1)), b(kAddress, 4'096, Seeded(2));
  QueuePair& qa = a.MakeQp(QpType::kRc);
  QueuePair& qb = b.MakeQp(QpType::kRc);
  Connect(a, qa, b, qb);
  b.Fill(0, kMessage, 0);
  PostReceive(b, qb, 5, b.Bytes(0, kMessage));

  constexpr uint32_t kAround = 1'024;
  const pid_t child = fork();
  if (child == 0) Sweep(b.adapter().port(), qb.number(), kTestPsn - kAround, 2 * kAround);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);

  EXPECT_FALSE(b.Wait(nullptr, Milliseconds(100)).has_value());
  EXPECT_GE(b.adapter().Query()->port.dropped_for(Drop::kWrongPort), kAround);
  EXPECT_EQ(b.adapter().Query(qb)->state, QpState::kRts);
  EXPECT_EQ(b.adapter().Query(qb)->counters.packets_received, 0U);
  Send(a, qa, 0x33);
  const auto received = b.Wait();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->status, CompletionStatus::kSuccess);
  EXPECT_EQ(received->byte_count, kMessage);
  EXPECT_TRUE(b.Holds(0, kMessage, 0x33));
}

}  // namespace
}  // namespace verbena::adapter
