#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rsocket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

// Tests of the calls of <rdma/rsocket.h> between two ends on the loopback address.
namespace verbena::rsockets {
namespace {

sockaddr_in Loopback(uint16_t port = 0) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return name;
}

sockaddr* Plain(sockaddr_in& name) { return reinterpret_cast<sockaddr*>(&name); }

// Owns the descriptor of an rsocket.
class Owned {
 public:
  explicit Owned(int fd) : fd_(fd) {}
  Owned(Owned&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Owned() { Close(); }
  operator int() const { return fd_; }  // NOLINT: used as one
  void Close() {
    if (fd_ < 0) return;
    EXPECT_EQ(rclose(std::exchange(fd_, -1)), 0);
  }

 private:
  int fd_;
};

Owned Listener(sockaddr_in& name) {
  Owned listener(rsocket(AF_INET, SOCK_STREAM, 0));
  name = Loopback();
  EXPECT_EQ(rbind(listener, Plain(name), sizeof name), 0) << strerror(errno);
  EXPECT_EQ(rlisten(listener, 8), 0) << strerror(errno);
  socklen_t length = sizeof name;
  EXPECT_EQ(rgetsockname(listener, Plain(name), &length), 0);
  EXPECT_NE(name.sin_port, 0);
  return listener;
}

// Two ends of a connection. The listener completes it before raccept, as the kernel does.
struct StreamPair {
  explicit StreamPair(bool nonblocking = false) : listener(Listener(name)) {
    EXPECT_EQ(rconnect(client, Plain(name), sizeof name), 0) << strerror(errno);
    accepted.push_back(Owned(raccept(listener, nullptr, nullptr)));
    EXPECT_GE(server(), 0) << strerror(errno);
    if (nonblocking) {
      EXPECT_EQ(rfcntl(client, F_SETFL, O_NONBLOCK), 0);
      EXPECT_EQ(rfcntl(server(), F_SETFL, O_NONBLOCK), 0);
    }
  }
  [[nodiscard]] Owned& server() { return accepted.front(); }

  sockaddr_in name{};
  Owned listener;
  Owned client{rsocket(AF_INET, SOCK_STREAM, 0)};
  std::vector<Owned> accepted;
};

std::string Receive(int socket, std::size_t length, int flags = MSG_WAITALL) {
  std::string text(length, '?');
  const ssize_t got = rrecv(socket, text.data(), length, flags);
  if (got < 0) return strerror(errno);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

TEST(StreamTest, BytesGoBothWays) {
  StreamPair pair;
  EXPECT_EQ(rsend(pair.client, "hello", 5, 0), 5);
  EXPECT_EQ(Receive(pair.server(), 5), "hello");
  EXPECT_EQ(rwrite(pair.server(), "and back", 8), 8);
  EXPECT_EQ(Receive(pair.client, 8), "and back");
}

TEST(StreamTest, HasLocalAndPeerNames) {
  StreamPair pair;
  sockaddr_in own{}, peer{};
  socklen_t length = sizeof own;
  ASSERT_EQ(rgetsockname(pair.client, Plain(own), &length), 0);
  length = sizeof peer;
  ASSERT_EQ(rgetpeername(pair.server(), Plain(peer), &length), 0);
  EXPECT_EQ(own.sin_port, peer.sin_port);
  ASSERT_EQ(rgetpeername(pair.client, Plain(peer), &length), 0);
  EXPECT_EQ(peer.sin_port, pair.name.sin_port);
}

// More bytes than the buffers of both sides hold, with calls of odd lengths.
TEST(StreamThreads, ManyBytesArriveInOrder) {
  StreamPair pair;
  std::vector<uint32_t> sent(1 << 20);
  std::iota(sent.begin(), sent.end(), 0U);
  const auto* const bytes = reinterpret_cast<const char*>(sent.data());
  const std::size_t size = sent.size() * sizeof(uint32_t);
  std::thread writer([&] {
    std::size_t length = 1;
    for (std::size_t done = 0; done < size; length = length * 3 % 300'007 + 1) {
      const ssize_t n = rsend(pair.client, bytes + done, std::min(length, size - done), 0);
      ASSERT_GT(n, 0) << strerror(errno);
      done += static_cast<std::size_t>(n);
    }
    EXPECT_EQ(rshutdown(pair.client, SHUT_WR), 0);
  });
  std::string received;
  std::string chunk(100'003, '?');
  for (;;) {
    const ssize_t n = rrecv(pair.server(), chunk.data(), chunk.size(), 0);
    ASSERT_GE(n, 0) << strerror(errno);
    if (n == 0) break;
    received.append(chunk.data(), static_cast<std::size_t>(n));
  }
  writer.join();
  ASSERT_EQ(received.size(), size);
  EXPECT_EQ(std::memcmp(received.data(), bytes, size), 0);
}

TEST(StreamTest, HalfCloseLeavesTheOtherDirectionOpen) {
  StreamPair pair;
  ASSERT_EQ(rshutdown(pair.client, SHUT_WR), 0);
  EXPECT_EQ(Receive(pair.server(), 1), "");
  EXPECT_EQ(rsend(pair.server(), "late", 4, 0), 4);
  EXPECT_EQ(Receive(pair.client, 4), "late");
  EXPECT_EQ(rsend(pair.client, "x", 1, 0), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST(StreamTest, TheStreamEndsAfterAllDataOfAClosedPeer) {
  StreamPair pair;
  ASSERT_EQ(rsend(pair.client, "last words", 10, 0), 10);
  pair.client.Close();
  EXPECT_EQ(Receive(pair.server(), 100), "last words");
  EXPECT_EQ(Receive(pair.server(), 1), "");
  EXPECT_EQ(rsend(pair.server(), "x", 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST(StreamTest, PeekDoesNotConsume) {
  StreamPair pair;
  ASSERT_EQ(rsend(pair.client, "abc", 3, 0), 3);
  EXPECT_EQ(Receive(pair.server(), 2, MSG_PEEK), "ab");
  EXPECT_EQ(Receive(pair.server(), 3), "abc");
}

TEST(StreamTest, GathersAndScatters) {
  StreamPair pair;
  std::string a = "one ", b = "two";
  const std::array<iovec, 2> from{iovec{a.data(), 4}, iovec{b.data(), 3}};
  ASSERT_EQ(rwritev(pair.client, from.data(), 2), 7);
  std::string c(3, '?'), d(4, '?');
  const std::array<iovec, 2> to{iovec{c.data(), 3}, iovec{d.data(), 4}};
  ASSERT_EQ(rreadv(pair.server(), to.data(), 2), 7);
  EXPECT_EQ(c + d, "one two");
}

TEST(StreamTest, ANonBlockingSocketReturnsEagain) {
  StreamPair pair(/*nonblocking=*/true);
  EXPECT_EQ(rfcntl(pair.client, F_GETFL), O_RDWR | O_NONBLOCK);
  char byte = 0;
  EXPECT_EQ(rrecv(pair.server(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
  const std::string block(65536, 'x');
  ssize_t total = 0, n = 0;
  while ((n = rsend(pair.client, block.data(), block.size(), 0)) > 0) total += n;
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_GT(total, 65536);
  pollfd file{.fd = pair.client, .events = POLLOUT, .revents = 0};
  EXPECT_EQ(rpoll(&file, 1, 0), 0);
  EXPECT_EQ(rfcntl(pair.server(), F_SETFL, 0), 0);
  EXPECT_EQ(Receive(pair.server(), static_cast<std::size_t>(total)).size(),
            static_cast<std::size_t>(total));
  EXPECT_EQ(rpoll(&file, 1, 10'000), 1);
}

TEST(StreamTest, PollHandlesRsocketsAndOtherFiles) {
  StreamPair pair;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  std::array<pollfd, 3> files{pollfd{pair.server(), POLLIN, 0}, pollfd{pipes[0], POLLIN, 0},
                              pollfd{pair.client, POLLIN | POLLOUT, 0}};
  EXPECT_EQ(rpoll(files.data(), 2, 10), 0);
  ASSERT_EQ(write(pipes[1], "x", 1), 1);
  EXPECT_EQ(rpoll(files.data(), 2, 10'000), 1);
  EXPECT_EQ(files[1].revents, POLLIN);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(rsend(pair.client, "x", 1, 0), 1);
  });
  EXPECT_EQ(rpoll(files.data(), 1, 10'000), 1);
  EXPECT_EQ(files[0].revents, POLLIN);
  later.join();
  EXPECT_EQ(rpoll(files.data(), 3, -1), 3);
  EXPECT_EQ(files[2].revents, POLLOUT);
  close(pipes[0]);
  close(pipes[1]);
}

TEST(StreamTest, SelectFillsTheSets) {
  StreamPair pair;
  ASSERT_EQ(rsend(pair.client, "x", 1, 0), 1);
  fd_set readable, writable;
  FD_ZERO(&readable);
  FD_ZERO(&writable);
  FD_SET(pair.server(), &readable);
  FD_SET(pair.client, &readable);
  FD_SET(pair.client, &writable);
  timeval timeout{.tv_sec = 10, .tv_usec = 0};
  const int count = std::max<int>(pair.server(), pair.client) + 1;
  Receive(pair.server(), 1, MSG_PEEK);
  EXPECT_EQ(rselect(count, &readable, &writable, nullptr, &timeout), 2);
  EXPECT_TRUE(FD_ISSET(pair.server(), &readable));
  EXPECT_FALSE(FD_ISSET(pair.client, &readable));
  EXPECT_TRUE(FD_ISSET(pair.client, &writable));
}

// One thread sleeps in rrecv while others poll, send and receive on the same socket.
TEST(StreamThreads, AReaderDoesNotMissAnEventOfAnotherThread) {
  StreamPair pair;
  std::thread poller([&] {
    pollfd file{.fd = pair.server(), .events = POLLIN, .revents = 0};
    for (int i = 0; i < 200; ++i) rpoll(&file, 1, 1);
  });
  std::thread echo([&] {
    char byte = 0;
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(rrecv(pair.server(), &byte, 1, 0), 1);
      ASSERT_EQ(rsend(pair.server(), &byte, 1, 0), 1);
    }
  });
  for (int i = 0; i < 200; ++i) {
    const char byte = static_cast<char>(i);
    ASSERT_EQ(rsend(pair.client, &byte, 1, 0), 1);
    char back = 0;
    ASSERT_EQ(rrecv(pair.client, &back, 1, 0), 1);
    ASSERT_EQ(back, byte);
  }
  echo.join();
  poller.join();
}

TEST(StreamTest, ARefusedConnectionReturnsEconnrefused) {
  sockaddr_in name;
  Listener(name).Close();
  Owned client(rsocket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(rconnect(client, Plain(name), sizeof name), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST(StreamTest, ConnectsInTheBackground) {
  sockaddr_in name;
  Owned listener = Listener(name);
  Owned client(rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  EXPECT_EQ(rconnect(client, Plain(name), sizeof name), -1);
  EXPECT_EQ(errno, EINPROGRESS);
  pollfd file{.fd = client, .events = POLLOUT, .revents = 0};
  ASSERT_EQ(rpoll(&file, 1, 10'000), 1);
  EXPECT_EQ(file.revents, POLLOUT);
  int error = -1;
  socklen_t length = sizeof error;
  EXPECT_EQ(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &error, &length), 0);
  EXPECT_EQ(error, 0);
  EXPECT_EQ(rconnect(client, Plain(name), sizeof name), -1);
  EXPECT_EQ(errno, EISCONN);
  file = {.fd = listener, .events = POLLIN, .revents = 0};
  EXPECT_EQ(rpoll(&file, 1, 10'000), 1);
  Owned server(raccept(listener, nullptr, nullptr));
  EXPECT_GE(server, 0);
}

TEST(StreamTest, NonBlockingAcceptWithoutAConnectionReturnsEagain) {
  sockaddr_in name;
  Owned listener = Listener(name);
  ASSERT_EQ(rfcntl(listener, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(raccept(listener, nullptr, nullptr), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(StreamTest, WritesDirectlyIntoMappedBuffers) {
  sockaddr_in name;
  Owned listener = Listener(name);
  Owned client(rsocket(AF_INET, SOCK_STREAM, 0));
  const int maps = 4;
  ASSERT_EQ(rsetsockopt(client, SOL_RDMA, RDMA_IOMAPSIZE, &maps, sizeof maps), 0);
  ASSERT_EQ(rconnect(client, Plain(name), sizeof name), 0) << strerror(errno);
  Owned server(raccept(listener, nullptr, nullptr));
  std::string mapped(100'000, '.');
  ASSERT_EQ(riomap(server, mapped.data(), mapped.size(), PROT_WRITE, 0, 1000), 1000);
  ASSERT_EQ(rsend(server, "m", 1, 0), 1);
  ASSERT_EQ(Receive(client, 1), "m");
  const std::string text(99'999, 'w');
  ASSERT_EQ(riowrite(client, text.data(), text.size(), 1001, 0), text.size());
  EXPECT_EQ(riowrite(client, "x", 1, 500, 0), 0U) << "an offset that is not mapped";
  ASSERT_EQ(rsend(client, "d", 1, 0), 1);
  ASSERT_EQ(Receive(server, 1), "d");
  EXPECT_EQ(mapped, "." + text);
  EXPECT_EQ(riounmap(server, mapped.data(), mapped.size()), 0);
  EXPECT_EQ(riounmap(server, mapped.data(), mapped.size()), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(StreamTest, RefusesInvalidArguments) {
  EXPECT_EQ(rsocket(AF_UNIX, SOCK_STREAM, 0), -1);
  EXPECT_EQ(errno, EAFNOSUPPORT);
  EXPECT_EQ(rsocket(AF_INET, SOCK_STREAM, IPPROTO_UDP), -1);
  EXPECT_EQ(errno, EPROTONOSUPPORT);
  char byte = 0;
  EXPECT_EQ(rrecv(0, &byte, 1, 0), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(rclose(-1), -1);
  EXPECT_EQ(errno, EBADF);
  Owned fresh(rsocket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(rsend(fresh, &byte, 1, 0), -1);
  EXPECT_EQ(errno, ENOTCONN);
  EXPECT_EQ(raccept(fresh, nullptr, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rshutdown(fresh, SHUT_WR), -1);
  EXPECT_EQ(errno, ENOTCONN);
}

// The first datagrams go over UDP, later ones from queue pair to queue pair.
TEST(DatagramTest, DatagramsGoBothWays) {
  Owned server(rsocket(AF_INET, SOCK_DGRAM, 0)), client(rsocket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in name = Loopback();
  ASSERT_EQ(rbind(server, Plain(name), sizeof name), 0);
  socklen_t length = sizeof name;
  ASSERT_EQ(rgetsockname(server, Plain(name), &length), 0);
  ASSERT_EQ(rconnect(client, Plain(name), sizeof name), 0) << strerror(errno);
  for (int i = 0; i < 50; ++i) {
    const std::string text(static_cast<std::size_t>(1 + i * 37), static_cast<char>('a' + i % 26));
    ASSERT_EQ(rsend(client, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    std::string got(4096, '?');
    sockaddr_in source{};
    length = sizeof source;
    const ssize_t n = rrecvfrom(server, got.data(), got.size(), 0, Plain(source), &length);
    ASSERT_EQ(n, static_cast<ssize_t>(text.size())) << strerror(errno);
    ASSERT_EQ(got.substr(0, text.size()), text);
    ASSERT_EQ(rsendto(server, "ok", 2, 0, Plain(source), length), 2) << strerror(errno);
    ASSERT_EQ(Receive(client, 10, 0), "ok");
  }
  const std::string too_long(4096, 'x');
  EXPECT_EQ(rsend(client, too_long.data(), too_long.size(), 0), -1);
  EXPECT_EQ(errno, EMSGSIZE);
}

}  // namespace
}  // namespace verbena::rsockets
