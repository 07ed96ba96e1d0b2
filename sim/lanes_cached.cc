// Lanes whose two ends register a buffer for each operation, through their registration caches.

#include <algorithm>

#include "sim/cached_memory.h"
#include "sim/lanes.h"
#include "sim/noise.h"

namespace verbena::sim {

using queue::SendOpcode;

namespace {

// Peers may do to a buffer what the operation does, or more.
constexpr Access kAnyRemote = Access::kLocal | Access::kRemote;

}  // namespace

CachedMemory* Lanes::CachedOn(Endnode& node) {
  if (kind_ != LaneKind::kCached) return nullptr;
  const auto found =
      std::ranges::find_if(cached_, [&](const auto& cached) { return &cached->node() == &node; });
  if (found != cached_.end()) return found->get();
  cached_.push_back(std::make_unique<CachedMemory>(swarm_, node, random_, findings_));
  return cached_.back().get();
}

void Lanes::PostCached(Lane& lane, Time now) {
  switch (random_.Below(6)) {
    case 0:
      return PostReadToCached(lane, now);
    case 1:
      return PostToCachedPeer(lane, now);
    case 2:
      return PostReadFromCachedPeer(lane, now);
    default:
      return PostFromCached(lane, now);
  }
}

// A message, or a write.
void Lanes::PostFromCached(Lane& lane, Time now) {
  const auto operation = MakeOperation(lane);
  const Access rights = random_.Chance(1, 2) ? Access::kLocalRead : Access::kLocal;
  const auto buffer = lane.cached->Take(operation->id, operation->bytes.size(), rights);
  if (!buffer) return Free(lane, *operation);
  lane.cached->Store(*buffer, operation->bytes);
  const std::vector<Sge> from = {buffer->Bytes(operation->bytes.size())};
  if (lane.free_exposed.empty() || random_.Chance(1, 2)) {
    return Submit(lane, operation, {.opcode = SendOpcode::kSend}, from, now);
  }
  operation->remote_slot = lane.free_exposed.back();
  lane.free_exposed.pop_back();
  const uint64_t offset = SlotAt(*operation->remote_slot);
  lane.exposed->Allow(operation->id, offset, operation->bytes);
  Submit(lane, operation, {.opcode = SendOpcode::kWrite, .operand = lane.exposed->Remote(offset)},
         from, now);
}

void Lanes::PostReadToCached(Lane& lane, Time now) {
  if (lane.free_exposed.empty()) return;
  const auto operation = MakeOperation(lane);
  const auto buffer = lane.cached->Take(operation->id, operation->bytes.size(), Access::kLocal);
  if (!buffer) return Free(lane, *operation);
  operation->remote_slot = lane.free_exposed.back();
  lane.free_exposed.pop_back();
  const uint64_t offset = SlotAt(*operation->remote_slot);
  lane.exposed->Store(offset, operation->bytes);
  lane.cached->Allow(operation->id, *buffer, operation->bytes);
  Submit(lane, operation, {.opcode = SendOpcode::kRead, .operand = lane.exposed->Remote(offset)},
         {buffer->Bytes(operation->bytes.size())}, now);
}

void Lanes::PostToCachedPeer(Lane& lane, Time now) {
  const auto operation = MakeOperation(lane);
  const auto buffer = lane.cached_peer->Take(operation->id, operation->bytes.size(), kAnyRemote);
  if (!buffer) return Free(lane, *operation);
  lane.cached_peer->Allow(operation->id, *buffer, operation->bytes);
  Submit(lane, operation,
         {.opcode = SendOpcode::kWrite, .operand = RemoteAddress{buffer->address, buffer->r_key}},
         {lane.local->Bytes(SlotAt(*operation->local_slot), operation->bytes.size())}, now);
}

void Lanes::PostReadFromCachedPeer(Lane& lane, Time now) {
  const auto operation = MakeOperation(lane);
  const Access rights = random_.Chance(1, 2) ? kAnyRemote : Access::kLocal | Access::kRemoteRead;
  const auto buffer = lane.cached_peer->Take(operation->id, operation->bytes.size(), rights);
  if (!buffer) return Free(lane, *operation);
  const auto bytes = Noise(random_, operation->bytes.size());
  lane.cached_peer->Store(*buffer, bytes);
  const uint64_t offset = SlotAt(*operation->local_slot);
  lane.local->Allow(operation->id, offset, bytes);
  Submit(lane, operation,
         {.opcode = SendOpcode::kRead, .operand = RemoteAddress{buffer->address, buffer->r_key}},
         {lane.local->Bytes(offset, bytes.size())}, now);
}

// The buffers are given back whether it went well or not: an operation that has ended uses none.
void Lanes::OnCachedEnded(Lane& lane, const Operation& operation, bool well) {
  lane.local->shadow().Finish(operation.id, well, "a read of cached memory", findings_);
  lane.cached->End(operation.id, well);
  lane.cached_peer->End(operation.id, well);
}

void Lanes::EndCached() {
  cached_of_gone_ = cached_counters();
  for (const auto& cached : cached_) {
    if (findings_.empty()) cached->CheckEnd();
  }
  cached_.clear();
}

CachedCounters Lanes::cached_counters() const {
  CachedCounters sum = cached_of_gone_;
  for (const auto& cached : cached_) sum += cached->counters();
  return sum;
}

}  // namespace verbena::sim
