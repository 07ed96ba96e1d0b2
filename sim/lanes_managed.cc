// Lanes to managed memory: writes and reads of its slots, wherever their contents are.

#include <algorithm>

#include "sim/lanes.h"
#include "sim/managed_memory.h"

namespace verbena::sim {

// Where the next lane of that kind ends: a run has one managed memory, or one for each guest. One
// whose last lane has broken comes first, because at the end all of it is read. nullptr: at another
// endnode.
LaneHost* Lanes::SomeManagedHost() {
  if (kind_ != LaneKind::kManaged) return nullptr;
  const auto without_lane = std::ranges::find_if(hosts_, [&](const auto& host) {
    return std::ranges::none_of(lanes_, [&](const auto& lane) { return lane->host == host.get(); });
  });
  if (without_lane != hosts_.end()) return without_lane->get();
  const size_t count = std::max(swarm_.guests, 1u);
  if (hosts_.size() < count) return nullptr;
  return hosts_[count == 1 ? 0 : random_.Below(count)].get();
}

// Guests without an adapter come and go, and are gone when it is calm.
void Lanes::RunHypervisor(bool is_calm) {
  const VirtualClock& clock = endnodes_.front()->clock;
  if (is_calm) pressure_.clear();
  while (!is_calm && pressure_.size() < swarm_.pressure_guests) {
    pressure_.push_back(std::make_unique<PressureGuest>(*hypervisor_, clock, random_.Fork()));
  }
  for (const auto& guest : pressure_) guest->Step();
  if (!pressure_.empty() && random_.Chance(swarm_.pressure_crashes, 1000)) {
    pressure_.erase(pressure_.begin());
  }
  hypervisor_->Step(is_calm, findings_);
}

void Lanes::PostManaged(Lane& lane, Time now) {
  const auto slot = lane.host->managed->Take(random_);
  if (!slot) return;
  if (random_.Chance(1, 2)) return PostManagedRead(lane, *slot, now);
  const auto operation = MakeOperation(lane);
  operation->managed_slot = slot;
  Submit(lane, operation,
         {.opcode = queue::SendOpcode::kWrite, .operand = lane.host->managed->Remote(*slot)},
         {lane.local->Bytes(SlotAt(*operation->local_slot), operation->bytes.size())}, now);
}

void Lanes::PostManagedRead(Lane& lane, uint32_t slot, Time now) {
  const auto operation = MakeOperation(lane);
  operation->managed_slot = slot;
  const auto expected = lane.host->managed->Expected(slot);
  const uint64_t offset = SlotAt(*operation->local_slot);
  lane.local->Allow(operation->id, offset, {expected.begin(), expected.end()});
  Submit(lane, operation,
         {.opcode = queue::SendOpcode::kRead, .operand = lane.host->managed->Remote(slot)},
         {lane.local->Bytes(offset, expected.size())}, now);
}

void Lanes::OnManagedEnded(Lane& lane, const Operation& operation, bool well) {
  ManagedMemory& memory = *lane.host->managed;
  if (operation.opcode == queue::SendOpcode::kWrite) {
    return memory.Wrote(*operation.managed_slot, operation.bytes, well);
  }
  lane.local->shadow().Finish(operation.id, well, "a read of managed memory", findings_);
  memory.Read(*operation.managed_slot, well);
}

// At the end everything is read once more. Unsignaled requests are known to have succeeded when the
// send queue is empty, so their slots are free then.
void Lanes::ReadAllManaged() {
  for (const auto& lane : lanes_) {
    if (lane->is_idle() && !lane->is_broken && !lane->has_failed()) {
      lane->sends.Drained(findings_,
                          [&](Operation& operation, bool well) { Ended(*lane, operation, well); });
    }
    while (lane->has_room() && !lane->has_failed()) {
      const auto slot = lane->host->managed->TakeUnread();
      if (!slot) break;
      PostManagedRead(*lane, *slot, lane->from->clock.now);
    }
  }
}

ManagedCounters Lanes::managed_counters() const {
  ManagedCounters sum = managed_of_gone_;
  for (const auto& host : hosts_) {
    if (host->managed) sum += host->managed->counters();
  }
  if (hypervisor_) sum.hypervisor = hypervisor_->counters();
  return sum;
}

}  // namespace verbena::sim
