#include "sim/simulator.h"

#include <gtest/gtest.h>

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

TEST(SimulatorTest, EveryKindOfTroubleAndOfWorkIsMet) {
  Simulator::Result sum;
  for (uint64_t seed = 100; seed < 300; ++seed) {
    const Simulator::Result result = Simulator::Run(Swarm::Draw(seed), nullptr);
    sum.faults += result.faults;
    sum.messages += result.messages;
    sum.broken += result.broken;
    sum.severed += result.severed;
    sum.bereft += result.bereft;
    sum.attacks += result.attacks;
    for (size_t i = 0; i < sum.succeeded.size(); ++i) sum.succeeded[i] += result.succeeded[i];
  }
  EXPECT_GT(sum.faults, 1000u);
  EXPECT_GT(sum.messages, 1000u);
  EXPECT_GT(sum.broken, 50u);
  EXPECT_GT(sum.severed, 5u);
  EXPECT_GT(sum.bereft, 5u);
  EXPECT_GT(sum.attacks, 20u);
  for (size_t i = 0; i < sum.succeeded.size(); ++i) {
    EXPECT_GT(sum.succeeded[i], 20u) << queue::NameOf(static_cast<queue::SendOpcode>(i));
  }
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
