#include "rdmacm/rsocket/stream_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

class StreamOptionsTest : public ::testing::Test {
 protected:
  int Set(int level, int name, int value, bool fixed = false) {
    const auto set = options.Set(level, name, std::as_bytes(std::span(&value, 1)), fixed);
    return set ? 0 : set.error().number;
  }
  int Get(int level, int name) const {
    int value = -1;
    const auto got = options.Get(level, name, std::as_writable_bytes(std::span(&value, 1)));
    return got ? value : -got.error().number;
  }

  StreamOptions options;
};

TEST_F(StreamOptionsTest, GetReturnsTheValueThatWasSet) {
  struct Row {
    int level, name, value;
  };
  for (const Row& row : {Row{SOL_SOCKET, SO_REUSEADDR, 1},
                         {SOL_SOCKET, SO_KEEPALIVE, 1},
                         {SOL_SOCKET, SO_OOBINLINE, 1},
                         {SOL_SOCKET, SO_RCVBUF, 65536},
                         {SOL_SOCKET, SO_SNDBUF, 65536},
                         {IPPROTO_TCP, TCP_NODELAY, 1},
                         {IPPROTO_TCP, TCP_KEEPIDLE, 30},
                         {IPPROTO_TCP, TCP_KEEPINTVL, 5},
                         {IPPROTO_TCP, TCP_KEEPCNT, 3},
                         {IPPROTO_IPV6, IPV6_V6ONLY, 1},
                         {SOL_RDMA, RDMA_SQSIZE, 100},
                         {SOL_RDMA, RDMA_RQSIZE, 200},
                         {SOL_RDMA, RDMA_INLINE, 32},
                         {SOL_RDMA, RDMA_IOMAPSIZE, 128}}) {
    ASSERT_EQ(Set(row.level, row.name, row.value), 0) << row.level << ' ' << row.name;
    const bool is_buffer =
        row.level == SOL_SOCKET && (row.name == SO_RCVBUF || row.name == SO_SNDBUF);
    EXPECT_EQ(Get(row.level, row.name), is_buffer ? 2 * row.value : row.value) << row.name;
  }
  EXPECT_EQ(Get(SOL_SOCKET, SO_TYPE), SOCK_STREAM);
}

TEST_F(StreamOptionsTest, BoundsSizes) {
  EXPECT_EQ(Set(SOL_RDMA, RDMA_SQSIZE, 1), 0);
  EXPECT_EQ(Get(SOL_RDMA, RDMA_SQSIZE), kQueueMin);
  EXPECT_EQ(Set(SOL_RDMA, RDMA_RQSIZE, 1 << 20), 0);
  EXPECT_EQ(Get(SOL_RDMA, RDMA_RQSIZE), kQueueMax);
  EXPECT_EQ(Set(SOL_SOCKET, SO_RCVBUF, 0), 0);
  EXPECT_GE(Get(SOL_SOCKET, SO_RCVBUF), static_cast<int>(kBufferMin));
  EXPECT_EQ(Set(SOL_SOCKET, SO_RCVBUF, 0x7FFFFFFF), 0);
  EXPECT_EQ(Get(SOL_SOCKET, SO_RCVBUF), static_cast<int>(kBufferMax));
  EXPECT_EQ(Set(SOL_RDMA, RDMA_IOMAPSIZE, 1 << 20), 0);
  EXPECT_EQ(Get(SOL_RDMA, RDMA_IOMAPSIZE), static_cast<int>(kIomapMax));
}

TEST_F(StreamOptionsTest, FixesSizesWithTheQueuePair) {
  EXPECT_EQ(Set(SOL_RDMA, RDMA_SQSIZE, 100, /*fixed=*/true), EINVAL);
  EXPECT_EQ(Set(SOL_SOCKET, SO_RCVBUF, 1 << 20, /*fixed=*/true), 0);
  EXPECT_EQ(Get(SOL_SOCKET, SO_RCVBUF), static_cast<int>(kReceiveBufferDefault));
}

TEST_F(StreamOptionsTest, RefusesUnknownOptions) {
  EXPECT_EQ(Set(SOL_SOCKET, SO_BROADCAST, 1), ENOPROTOOPT);
  EXPECT_EQ(Get(SOL_SOCKET, SO_BROADCAST), -ENOPROTOOPT);
  EXPECT_EQ(Set(IPPROTO_TCP, TCP_CORK, 1), ENOPROTOOPT);
  EXPECT_EQ(Set(4711, 1, 1), ENOPROTOOPT);
  EXPECT_EQ(Set(IPPROTO_TCP, TCP_KEEPIDLE, 0), EINVAL);
  EXPECT_EQ(Set(SOL_RDMA, RDMA_INLINE, -1), EINVAL);
}

TEST_F(StreamOptionsTest, RefusesAValueThatIsTooShort) {
  const std::array<std::byte, 2> bytes{};
  EXPECT_EQ(options.Set(SOL_SOCKET, SO_REUSEADDR, bytes, false).error(), Errno{EINVAL});
  const int number = 1;
  EXPECT_EQ(options.Set(SOL_SOCKET, SO_LINGER, std::as_bytes(std::span(&number, 1)), false).error(),
            Errno{EINVAL});
}

TEST_F(StreamOptionsTest, HasACloseTimeout) {
  const linger wait{.l_onoff = 1, .l_linger = 3};
  ASSERT_TRUE(options.Set(SOL_SOCKET, SO_LINGER, std::as_bytes(std::span(&wait, 1)), false));
  linger got{};
  ASSERT_EQ(options.Get(SOL_SOCKET, SO_LINGER, std::as_writable_bytes(std::span(&got, 1))),
            socklen_t{sizeof got});
  EXPECT_EQ(got.l_linger, 3);
}

TEST_F(StreamOptionsTest, TruncatesAValueToTheRoomForIt) {
  std::array<std::byte, 2> bytes{};
  EXPECT_EQ(options.Get(SOL_SOCKET, SO_TYPE, bytes), socklen_t{2});
}

}  // namespace
}  // namespace verbena::rsockets
