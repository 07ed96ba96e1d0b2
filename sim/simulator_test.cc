#include "sim/simulator.h"

#include <string>

#include <gtest/gtest.h>

#include "base/check.h"

namespace verbena::sim {
namespace {

TEST(SimulatorTest, SameSeedSameRun) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Swarm swarm = Swarm::Draw(seed);
    const Simulator::Result first = Simulator::Run(swarm, nullptr);
    const Simulator::Result second = Simulator::Run(swarm, nullptr);
    EXPECT_EQ(first.failure, "") << "seed " << seed;
    EXPECT_EQ(first.digest, second.digest) << "seed " << seed;
    EXPECT_EQ(first.packets, second.packets) << "seed " << seed;
    EXPECT_EQ(first.virtual_time, second.virtual_time) << "seed " << seed;
  }
}

TEST(SimulatorTest, ACaptureDoesNotChangeTheRun) {
  const Swarm swarm = Swarm::Draw(3);
  size_t bytes = 0;
  wire::PcapngWriter capture([&](std::span<const std::byte> piece) { bytes += piece.size(); });
  const Simulator::Result with = Simulator::Run(swarm, &capture);
  EXPECT_EQ(with.digest, Simulator::Run(swarm, nullptr).digest);
  EXPECT_GT(bytes, with.packets * 16) << "every packet is in it";
}

TEST(SimulatorTest, SeedsDiffer) {
  EXPECT_NE(Simulator::Run(Swarm::Draw(1), nullptr).digest,
            Simulator::Run(Swarm::Draw(2), nullptr).digest);
}

void Add(Simulator::Result& sum, const Simulator::Result& result) {
  sum.faults += result.faults;
  sum.messages += result.messages;
  sum.group_messages += result.group_messages;
  sum.departures += result.departures;
  sum.broken += result.broken;
  sum.severed += result.severed;
  sum.unmapped += result.unmapped;
  sum.stale += result.stale;
  sum.attacks += result.attacks;
  sum.segments_lost += result.segments_lost;
  sum.srq_limits += result.srq_limits;
  sum.overflows += result.overflows;
  sum.uc_held += result.uc_held;
  sum.xrc_succeeded += result.xrc_succeeded;
  sum.xrc_refused += result.xrc_refused;
  sum.resumed += result.resumed;
  sum.tags_matched += result.tags_matched;
  sum.unexpected += result.unexpected;
  sum.rendezvous += result.rendezvous;
  sum.managed += result.managed;
  for (size_t i = 0; i < sum.succeeded.size(); ++i) sum.succeeded[i] += result.succeeded[i];
}

// What occurred too seldom, or nothing. Under a sanitizer, which is slower, a fifth is enough.
std::string Rare(const Simulator::Result& sum) {
  constexpr uint64_t kPart = VERBENA_DCHECK ? 5 : 1;
  if (sum.faults <= 1'000 / kPart) return "faults";
  if (sum.messages <= 1'000 / kPart) return "messages";
  if (sum.group_messages <= 1'000 / kPart) return "messages of multicast groups";
  if (sum.departures <= 50 / kPart) return "members that leave a multicast group";
  if (sum.broken <= 50 / kPart) return "broken connections";
  if (sum.severed <= 5 / kPart) return "severed connections";
  if (sum.unmapped <= 5 / kPart) return "unmapped connections";
  if (sum.attacks <= 20 / kPart) return "attacks";
  if (sum.stale <= 20 / kPart) return "packets for a queue pair of a machine that has crashed";
  if (sum.srq_limits <= 200 / kPart) return "limits of shared receive queues";
  if (sum.overflows <= 20 / kPart) return "overflows of completion queues";
  if (sum.xrc_succeeded <= 500 / kPart) return "requests of extended connections";
  if (sum.xrc_refused <= 5 / kPart) return "requests for a receiver that is not there";
  if (sum.resumed <= 20 / kPart) return "send queues resumed after a failed registration";
  if (sum.tags_matched <= 500 / kPart) return "messages that match a tag";
  if (sum.unexpected <= 500 / kPart) return "unexpected messages";
  if (sum.rendezvous <= 50 / kPart) return "rendezvous";
  if (sum.managed.reads <= 1'000 / kPart) return "reads of managed memory";
  if (sum.managed.loaded <= 1'000 / kPart) return "pages from the swap file";
  // One seed in two hundred loses pages, and then several.
  if (sum.managed.broken == 0) return "pages that the swap file has lost";
  if (sum.managed.discarded <= 100 / kPart) return "managed memory given up";
  if (sum.managed.budgets <= 100 / kPart) return "changes of the memory budget";
  if (sum.managed.hypervisor.grants <= 200 / kPart) return "grants of a hypervisor";
  if (sum.managed.hypervisor.lowered <= 20 / kPart) return "lowered grants";
  if (sum.managed.hypervisor.quiesces <= 10 / kPart) return "regions of guests quiesced";
  if (sum.managed.hypervisor.crashes <= 5 / kPart) return "crashes of a broker";
  if (sum.managed.hypervisor.guests_gone <= 5 / kPart) return "crashes of guests";
  if (sum.uc_held <= 20 / kPart) return "packets kept by unreliable connections";
  if (sum.segments_lost <= 1'000 / kPart) return "segments lost";
  for (size_t i = 0; i < sum.succeeded.size(); ++i) {
    if (sum.succeeded[i] <= 20 / kPart) return queue::NameOf(static_cast<queue::SendOpcode>(i));
  }
  return "";
}

TEST(SimulatorTest, EveryKindOfTroubleAndOfWorkIsMet) {
  constexpr uint64_t kSeedMax = 1'000;
  Simulator::Result sum;
  for (uint64_t seed = 400; seed < kSeedMax && !Rare(sum).empty(); ++seed) {
    Add(sum, Simulator::Run(Swarm::DrawWithGuests(seed), nullptr));
  }
  EXPECT_EQ(Rare(sum), "");
}

// Programs that register for each operation: the real cache finds, merges, changes, evicts and
// gives up registrations while packets are lost, and no byte is of a wrong frame.
TEST(SimulatorTest, CachedRegistrationsAreUsedAndGivenUp) {
  constexpr uint64_t kSeeds = VERBENA_DCHECK ? 20 : 100;
  CachedCounters sum;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Swarm swarm = Swarm::DrawWithCache(seed);
    const Simulator::Result result = Simulator::Run(swarm, nullptr);
    EXPECT_EQ(result.failure, "") << "seed " << seed;
    if (seed <= 3) {
      EXPECT_EQ(result.digest, Simulator::Run(swarm, nullptr).digest);
    }
    sum += result.cached;
  }
  EXPECT_GT(sum.cache.hits_fast, kSeeds);
  EXPECT_GT(sum.cache.hits_slow, 2 * kSeeds);
  EXPECT_GT(sum.cache.misses, 20 * kSeeds);
  EXPECT_GT(sum.cache.merges, kSeeds / 2);
  EXPECT_GT(sum.cache.changes, kSeeds);
  EXPECT_GT(sum.cache.evictions, kSeeds);
  EXPECT_GT(sum.cache.invalidations, kSeeds);
  EXPECT_GT(sum.replaced, 10 * kSeeds);
}

// Packets to a dead process reach its successor at the same port, with the same queue pair numbers
// and sequence numbers: no queue pair must accept them as its own peer's.
TEST(SimulatorTest, AProcessThatStartsAgainIsNotTakenForTheDeadOne) {
  constexpr uint64_t kSeeds = VERBENA_DCHECK ? 8 : 40;
  uint64_t stale = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Swarm swarm = Swarm::Draw(seed);
    swarm.endnodes = 3;
    swarm.connections = 3;
    swarm.one_machine = swarm.fixed_psn = true;
    swarm.has_spared = false;
    swarm.crash = 10;
    // See Swarm::Draw.
    swarm.managed_connections = swarm.tag_connections = swarm.reactive_connections = 0;
    const Simulator::Result result = Simulator::Run(swarm, nullptr);
    EXPECT_EQ(result.failure, "") << "seed " << seed;
    stale += result.stale;
  }
  EXPECT_GT(stale, 20U);
}

// Links that always lose segments, and nothing else. All work succeeds: after a timeout, packets
// are retransmitted as single datagrams, and a link that loses often is learned.
TEST(SimulatorTest, LinksThatLoseSegmentsDeliverEverythingInTheEnd) {
  Simulator::Result sum;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Swarm swarm = Swarm::Draw(seed);
    swarm.segments_max = static_cast<uint32_t>(1 + seed % 3);
    swarm.has_spared = false;
    swarm.retry_count = swarm.rnr_retry = 7;
    swarm.dry = swarm.loss = swarm.duplication = swarm.corruption = swarm.partition = 0;
    swarm.severance = swarm.hostile = swarm.attack = swarm.page_in_failure = 0;
    swarm.invalidation = swarm.swap = swarm.deregistration = swarm.unmapping = 0;
    swarm.illegal = swarm.crash = 0;
    swarm.cq_capacity = Swarm().cq_capacity;  // none overflows
    swarm.jitter = Duration();
    const Simulator::Result result = Simulator::Run(swarm, nullptr);
    ASSERT_EQ(result.failure, "") << "seed " << seed;
    ASSERT_EQ(result.broken, 0u) << "seed " << seed;
    sum.segments_lost += result.segments_lost;
    sum.paths_single += result.paths_single;
  }
  EXPECT_GT(sum.segments_lost, 1'000u);
  EXPECT_GT(sum.paths_single, 20u);
}

TEST(SwarmTest, PrintsWhatWasDrawn) {
  const std::string text = Swarm::Draw(42).ToString();
  EXPECT_NE(text.find("seed=42\n"), std::string::npos);
  EXPECT_NE(text.find("path_mtu="), std::string::npos);
  EXPECT_EQ(text, Swarm::Draw(42).ToString());
  EXPECT_NE(text, Swarm::Draw(43).ToString());
}

}  // namespace
}  // namespace verbena::sim
