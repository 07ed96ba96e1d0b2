// Lanes to managed memory: writes and reads of its slots, wherever their contents are.

#include "sim/lanes.h"
#include "sim/managed_memory.h"

namespace verbena::sim {

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
  return sum;
}

}  // namespace verbena::sim
