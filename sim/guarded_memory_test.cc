#include "sim/guarded_memory.h"

#include <gtest/gtest.h>

#include "memory/copy/copier.h"
#include "memory/copy/signal_guard.h"
#include "odp/page_jobs.h"
#include "sim/endnode.h"

namespace verbena::sim {
namespace {

constexpr Access kRights = Access::kLocalRead | Access::kLocalWrite;

class GuardedMemoryTest : public testing::Test {
 protected:
  GuardedMemoryTest() { memory::SignalGuard::Install(); }

  // As the page service and the engine do.
  bool PageIn(const memory::Fault& fault) {
    odp::PageJob job = odp::JobFor(node_.core, {.qp = {}, .ticket = {}, .fault = fault}, 1);
    return node_.pager.PageIn(job, node_.core) &&
           odp::MapPages(node_.core, node_.pager.watch(), job, node_.clock.now);
  }

  memory::Translation Find(const GuardedMemory& guarded, uint64_t offset, uint64_t length) {
    return node_.core.translator.Translate(guarded.keys().local,
                                           KeyAddress(GuardedMemory::kBase + offset), length,
                                           memory::AccessKind::kLocalRead, {node_.pd, QpNumber(1)});
  }

  const Swarm swarm_;
  Random random_{1};
  VirtualClock clock_;
  Network network_{swarm_, random_.Fork(), nullptr};
  Endnode node_{{.swarm = swarm_, .clock = clock_, .network = network_, .tap = {}}, 0, random_};
};

TEST_F(GuardedMemoryTest, VanishedPagesArePresentToTheTablesAndCannotBeCopied) {
  const auto guarded =
      node_.MakeGuardedMemory({.bytes = 3 * kPage, .rights = kRights, .can_vanish = true}, random_);
  guarded->Vanish(1, 1);
  std::vector<std::byte> bytes(16);
  const auto there = Find(*guarded, 0, bytes.size());
  const auto gone = Find(*guarded, kPage, bytes.size());
  ASSERT_NE(AsReady(there), nullptr);
  ASSERT_NE(AsReady(gone), nullptr);
  EXPECT_FALSE(memory::CopyOut(bytes, AsReady(there)->spans).fault.has_value());
  EXPECT_TRUE(memory::CopyOut(bytes, AsReady(gone)->spans).fault.has_value());
  Findings findings;
  guarded->shadow().Check(findings);
  EXPECT_TRUE(findings.empty()) << "the oracle sees them all the same";
  node_.Release(*guarded);
}

TEST_F(GuardedMemoryTest, ThePagerPagesInMappedPages) {
  const auto guarded =
      node_.MakeGuardedMemory({.bytes = 2 * kPage, .rights = kRights, .can_vanish = true}, random_);
  guarded->Evict(node_.core, 0);
  const auto missing = Find(*guarded, 0, 8);
  ASSERT_NE(AsFault(missing), nullptr);
  EXPECT_TRUE(PageIn(*AsFault(missing)));
  EXPECT_NE(AsReady(Find(*guarded, 0, 8)), nullptr);
  guarded->Vanish(0, 1);
  EXPECT_FALSE(PageIn(*AsFault(missing)));
  node_.Release(*guarded);
}

TEST_F(GuardedMemoryTest, TheReceivePoolHandsOutEachBufferOnceAndInOrder) {
  ReceivePool pool(node_.MakeGuardedMemory({.bytes = kPage, .rights = kRights}, random_), 2, 512,
                   false);
  uint64_t posted = 0;
  pool.Fill(random_, [&](const queue::ReceiveWorkRequest&) { return ++posted <= 2; });
  EXPECT_EQ(posted, 2u);
  Findings findings;
  EXPECT_FALSE(pool.OffsetOf(WrId(2), findings).has_value()) << "not its turn";
  EXPECT_TRUE(pool.OffsetOf(WrId(1), findings).has_value());
  pool.Finish(WrId(1), true, findings);
  EXPECT_FALSE(pool.OffsetOf(WrId(1), findings).has_value()) << "twice";
  pool.Finish(WrId(2), true, findings);
  EXPECT_TRUE(pool.empty());
  node_.Release(*pool.guarded());
}

}  // namespace
}  // namespace verbena::sim
