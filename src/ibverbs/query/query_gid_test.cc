#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

extern "C" int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned int index,
                                  unsigned int* type);

namespace verbena::ibverbs {
namespace {

class QueryGidTest : public ::testing::Test {
 protected:
  uint32_t Length() {
    ibv_port_attr port{};
    EXPECT_EQ(ibv_query_port(end_.context, 1, &port), 0);
    return static_cast<uint32_t>(port.gid_tbl_len);
  }

  testing::VerbsEnd end_;
};

TEST_F(QueryGidTest, AllVariantsReturnTheSame) {
  std::vector<ibv_gid_entry> table(Length());
  const ssize_t count = ibv_query_gid_table(end_.context, table.data(), table.size(), 0);
  ASSERT_GT(count, 0);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    ibv_gid_entry entry{};
    ASSERT_EQ(ibv_query_gid_ex(end_.context, 1, table[i].gid_index, &entry, 0), 0);
    EXPECT_EQ(std::memcmp(&entry, &table[i], sizeof entry), 0);
    EXPECT_EQ(entry.gid_type, uint32_t{IBV_GID_TYPE_ROCE_V2});
    EXPECT_NE(entry.ndev_ifindex, 0U);
    ibv_gid gid{};
    ASSERT_EQ(ibv_query_gid(end_.context, 1, static_cast<int>(table[i].gid_index), &gid), 0);
    EXPECT_EQ(std::memcmp(&gid, &entry.gid, sizeof gid), 0);
    unsigned type = 9;
    ASSERT_EQ(ibv_query_gid_type(end_.context, 1, table[i].gid_index, &type), 0);
    EXPECT_EQ(type, 1U);
  }
}

TEST_F(QueryGidTest, AnEmptyEntryIsZerosOrEnodata) {
  const uint32_t last = Length() - 1;
  ibv_gid_entry entry{};
  EXPECT_EQ(ibv_query_gid_ex(end_.context, 1, last, &entry, 0), ENODATA);
  ibv_gid gid{};
  gid.raw[3] = 7;
  EXPECT_EQ(ibv_query_gid(end_.context, 1, static_cast<int>(last), &gid), 0);
  EXPECT_EQ(gid.raw[3], 0);
}

TEST_F(QueryGidTest, IndicesBeyondTheTableAreRefused) {
  const uint32_t length = Length();
  ibv_gid_entry entry{};
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid_ex(end_.context, 1, length, &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(end_.context, 2, 0, &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(end_.context, 1, 0, &entry, 1), EINVAL);
  EXPECT_EQ(ibv_query_gid(end_.context, 1, static_cast<int>(length), &gid), -1);
  EXPECT_EQ(ibv_query_gid(end_.context, 1, -1, &gid), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(QueryGidTest, ATableWithoutRoomIsRefused) {
  ibv_gid_entry entry{};
  EXPECT_EQ(ibv_query_gid_table(end_.context, &entry, 0, 0), -EINVAL);
  EXPECT_EQ(ibv_query_gid_table(end_.context, &entry, 1, 1), -EINVAL);
}

TEST_F(QueryGidTest, EntriesHaveTheSizeOfTheProgramsHeaders) {
  struct {
    ibv_gid_entry entry;
    uint64_t more;
  } later{};
  later.more = 7;
  ASSERT_EQ(_ibv_query_gid_ex(end_.context, 1, 0, &later.entry, 0, sizeof later), 0);
  EXPECT_EQ(later.more, 0U);
  EXPECT_EQ(later.entry.port_num, 1U);
}

}  // namespace
}  // namespace verbena::ibverbs
