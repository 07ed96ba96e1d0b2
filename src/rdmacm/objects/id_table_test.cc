#include "rdmacm/objects/id_table.h"

#include <gtest/gtest.h>

#include "rdmacm/objects/id.h"

namespace verbena::rdmacm {
namespace {

TEST(IdTableTest, AnIdIsFoundUntilItIsRemoved) {
  rdma_event_channel channel{};
  Id id(&channel, nullptr, RDMA_PS_TCP, IBV_QPT_RC);
  IdTable table;
  const IdKey key = table.Add(id);
  Id* found = nullptr;
  EXPECT_TRUE(table.With(FromUser(ToUser(key)), [&](Id& it) { found = &it; }));
  EXPECT_EQ(found, &id);
  table.Remove(key);
  EXPECT_FALSE(table.With(key, [](Id&) { FAIL(); }));
}

TEST(IdTableTest, AllIdsAreVisited) {
  rdma_event_channel channel{};
  Id first(&channel, nullptr, RDMA_PS_TCP, IBV_QPT_RC);
  Id second(&channel, nullptr, RDMA_PS_TCP, IBV_QPT_RC);
  IdTable table;
  static_cast<void>(table.Add(first));
  static_cast<void>(table.Add(second));
  int count = 0;
  table.ForEach([&](Id&) { ++count; });
  EXPECT_EQ(count, 2);
}

TEST(IdTableTest, AKeyIsNotUsedTwice) {
  rdma_event_channel channel{};
  Id id(&channel, nullptr, RDMA_PS_TCP, IBV_QPT_RC);
  IdTable table;
  const IdKey first = table.Add(id);
  table.Remove(first);
  EXPECT_NE(table.Add(id), first);
  EXPECT_FALSE(table.With(first, [](Id&) { FAIL(); }));
}

}  // namespace
}  // namespace verbena::rdmacm
