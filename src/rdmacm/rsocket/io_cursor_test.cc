#include "rdmacm/rsocket/io_cursor.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

TEST(IoCursor, WalksOverAllBuffers) {
  std::string a = "abc", b, c = "defgh";
  const std::array<iovec, 3> buffers{iovec{a.data(), a.size()}, iovec{b.data(), 0},
                                     iovec{c.data(), c.size()}};
  IoCursor cursor(buffers);
  EXPECT_EQ(cursor.left(), 8U);
  std::array<char, 4> out;
  cursor.CopyOut(std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(std::string(out.data(), out.size()), "abcd");
  cursor.CopyOut(std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(std::string(out.data(), out.size()), "efgh");
  EXPECT_EQ(cursor.left(), 0U);
  cursor.CopyOut({});
}

TEST(IoCursor, WritesBuffers) {
  std::string a = "...", b = "...";
  const std::array<iovec, 2> buffers{iovec{a.data(), a.size()}, iovec{b.data(), b.size()}};
  IoCursor cursor(buffers);
  const std::string text = "12345";
  cursor.CopyIn(std::as_bytes(std::span(text)));
  EXPECT_EQ(a + b, "12345.");
  EXPECT_EQ(cursor.left(), 1U);
}

}  // namespace
}  // namespace verbena::rsockets
