// The disturbances of simulator.h, besides those of the links.

#include <utility>

#include "sim/draw.h"
#include "sim/simulator.h"

namespace verbena::sim {

void Simulator::Disturb() {
  Connection& connection = *connections_[random_.Below(connections_.size())];
  const int at = random_.Chance(1, 2) ? 1 : 0;
  Side& side = connection.side(at);
  if (random_.Chance(swarm_.eviction, 1000) && !connection.is_spared) {
    GuardedMemory* const memories[] = {side.local.get(), side.exposed.get(),
                                       side.receives().guarded(), side.node->counters.get()};
    GuardedMemory& guarded = *memories[random_.Below(4)];
    const uint64_t first = random_.Below(guarded.pages());
    const uint64_t count = random_.Chance(1, 2) ? 1 : 1 + random_.Below(guarded.pages() - first);
    for (uint64_t i = 0; i < count; ++i) guarded.Evict(side.node->core, first + i);
  }
  if (!connection.broken && side.qp) {
    if (random_.Chance(swarm_.invalidation, 1000)) workload_.EndSomeGranted(connection, at, now());
    if (random_.Chance(swarm_.deregistration, 1000)) workload_.DeregisterSome(connection, at);
    if (random_.Chance(swarm_.unmapping, 1000)) workload_.UnmapSome(connection, at);
    const bool drains = random_.Chance(swarm_.drain, 1000) && !connection.is_spared;
    if (drains && side.qp->state() == QpState::kRts && !side.is_draining) {
      side.is_draining = true;
      side.node->Modify(*side.qp, QpState::kSqd);
    }
    if (swarm_.neglect > 0 && random_.Chance(swarm_.neglect, 1000)) {
      ProgramCq& cq = random_.Chance(1, 2) ? side.send_cq : side.receive_cq;
      cq.Neglect(now() + UpTo(random_, ProgramCq::kNeglectMax));
    }
    if (side.is_swapped_out ? random_.Chance(1, 20) : random_.Chance(swarm_.swap, 1000)) {
      side.is_swapped_out ? workload_.SwapIn(connection, at) : workload_.SwapOut(connection, at);
    }
  }
  unreliable_.Disturb(now());
  for (Program* const program : programs_) program->Disturb();
  if (random_.Chance(swarm_.partition, 1000)) CutSomeLink();
  if (random_.Chance(swarm_.severance, 1000)) SeverSome();
  if (random_.Chance(swarm_.hostile, 1000)) Forge();
  if (random_.Chance(swarm_.attack, 1000)) {
    if (auto event = attacker_.Attack(connections_, connection, at)) {
      network_.Add(now() + swarm_.delay, std::move(*event));
      ++result_.attacks;
    }
  }
  if (random_.Chance(swarm_.crash, 1000)) Crash();
}

void Simulator::CutSomeLink() {
  const auto from = static_cast<uint32_t>(random_.Below(endnodes_.size()));
  const auto to = static_cast<uint32_t>(random_.Below(endnodes_.size()));
  network_.Cut(from, to, now() + Microseconds(static_cast<int64_t>(1 + random_.Below(20'000))));
}

// In one direction or both, until the connection is taken down.
void Simulator::SeverSome() {
  Connection& connection = *connections_[random_.Below(connections_.size())];
  if (connection.is_spared) return;
  connection.is_severed = true;
  const uint64_t which = random_.Below(3);
  if (which != 0) network_.Sever(connection.side(0).number);
  if (which != 1) network_.Sever(connection.side(1).number);
}

// An attacker that sees packets but does not know the sequence numbers: the number is far off, and
// the other bytes are arbitrary.
void Simulator::Forge() {
  constexpr uint32_t kFar = 1u << 20;
  if (seen_.empty()) return;
  std::vector<std::byte> forged = seen_;
  if (random_.Chance(1, 4)) forged.resize(random_.Below(forged.size() + 1));
  const uint64_t changes = random_.Below(8);
  for (uint64_t i = 0; i < changes && forged.size() > 12; ++i) {
    const uint64_t at = random_.Chance(1, 4) ? 0 : 12 + random_.Below(forged.size() - 12);
    forged[at] = static_cast<std::byte>(random_.Next32());
  }
  // An unreliable connection (opcodes 0x20 to 0x3f) accepts a first packet with any sequence
  // number, and the queue pair number may have become that of such a connection: the packet would
  // be accepted legitimately.
  if (!forged.empty() && (forged[0] >> 5) == std::byte{1}) forged[0] = seen_[0];
  if (forged.size() >= 12) {
    uint32_t psn = std::to_integer<uint32_t>(forged[9]) << 16 |
                   std::to_integer<uint32_t>(forged[10]) << 8 |
                   std::to_integer<uint32_t>(forged[11]);
    psn += kFar + static_cast<uint32_t>(random_.Below((1u << 24) - 2 * kFar));
    for (size_t i = 0; i < 3; ++i) forged[9 + i] = static_cast<std::byte>(psn >> (16 - 8 * i));
  }
  Event event{.to = seen_to_, .from = seen_from_, .packet = std::move(forged), .is_forged = true};
  Network::Seal(swarm_, event);
  network_.Add(now() + swarm_.delay, std::move(event));
}

// All connections of an endnode are gone at once; their peers must find out. It restarts at once,
// with the same address, port and queue pair numbers, and is connected again while the peers still
// send to the dead queue pairs.
void Simulator::Crash() {
  const auto which = static_cast<uint32_t>(random_.Below(endnodes_.size()));
  size_t lost = 0;
  Endnode* const victim = endnodes_[which].get();
  victim->Die();
  network_.ForgetJobs(which);
  ForEachSide([&](Connection& connection, int at) {
    Side& side = connection.side(at);
    if (side.node != victim || !side.qp) return;
    side.Crash();
    lost += connection.is_replaced ? 0 : 1;
    connection.is_replaced = true;
    connection.has_reason = true;
    const int64_t tries = swarm_.retry_count + 2;
    connection.Break(now(), swarm_.ack_timeout * tries);
  });
  auto restarted = std::make_unique<Endnode>(context_, which, random_);
  crashed_.push_back(std::exchange(endnodes_[which], std::move(restarted)));
  unreliable_.Crashed(*victim, now());
  for (Program* const program : programs_) program->Crashed(*victim);
  for (size_t i = 0; i < lost; ++i) Connect(which, SomePeerOf(which));
}

}  // namespace verbena::sim
