// The requests that programs post.

#include <cstring>

#include "base/check.h"
#include "sim/noise.h"
#include "sim/workload.h"

namespace verbena::sim {
namespace {

using queue::SendOpcode;

constexpr uint64_t kWord = sizeof(uint64_t);

std::vector<std::byte> BytesOf(uint64_t word) {
  std::vector<std::byte> bytes(kWord);
  std::memcpy(bytes.data(), &word, kWord);
  return bytes;
}

}  // namespace

uint64_t Workload::SomeLength() {
  if (random_.Chance(1, 20)) return 0;
  return 1 + random_.Below(random_.Chance(1, 3) ? swarm_.slot_bytes : swarm_.slot_bytes / 8);
}

bool Workload::Post(Connection& connection, int from, Time now) {
  Side& side = connection.side(from);
  const uint64_t posted = side.send_queue().end().value() - side.send_queue().begin().value();
  if (connection.broken || side.has_overflowed()) return false;
  if (posted == side.send_queue().limits().capacity) return false;
  if (posted == 0 && side.send_cq.size() == 0) Drained(connection, from);
  Draft draft;
  draft.operation->id = next_id_++;
  if (!DraftSome(connection, from, draft)) return false;
  Submit(connection, from, draft, now);
  return true;
}

bool Workload::DraftSome(Connection& connection, int from, Draft& draft) {
  const uint64_t choice = random_.Below(14);
  if (choice < 3) return DraftMessage(connection, from, draft);
  if (choice < 6) return DraftWrite(connection, from, draft);
  if (choice < 8) return DraftRead(connection, from, draft);
  if (choice == 8) return DraftFetchAndAdd(connection, from, draft);
  if (choice == 9) return DraftWord(connection, from, draft);
  if (choice == 10) {
    return random_.Chance(1, 2) ? DraftFlush(connection, from, draft)
                                : DraftInvalidate(connection, from, draft);
  }
  if (random_.Chance(swarm_.granted_keys, 1000)) return DraftGrant(connection, from, draft);
  return !connection.is_spared && DraftDelay(draft);
}

bool Workload::DraftDelay(Draft& draft) {
  if (!random_.Chance(1, 4)) return false;
  draft.wqe.opcode = SendOpcode::kDelay;
  draft.wqe.operand = queue::DelayOperand{Microseconds(static_cast<int64_t>(random_.Below(200)))};
  return true;
}

bool Workload::TakeLocal(Side& side, Draft& draft) {
  if (side.free_local.empty()) return false;
  draft.operation->local_slot = side.free_local.back();
  side.free_local.pop_back();
  return true;
}

// Bytes of the peer for a write or read: of its region, or of a key that it grants.
bool Workload::TakeRemote(Connection& connection, int from, Draft& draft, RemoteAddress& remote) {
  Side& peer = connection.side(1 - from);
  if (random_.Chance(swarm_.granted_keys, 1000)) {
    for (const auto& granted : peer.granted_keys) {
      if (granted->state != GrantedKey::State::kGood || granted->user != nullptr) continue;
      if (granted->is_window() && peer.is_swapped_out) continue;
      draft.granted = granted.get();
      draft.operation->granted = granted->id;
      draft.operation->remote_slot = granted->slot;
      draft.operation->needs_exposed = granted->is_window();
      remote = {granted->zero_based ? 0 : GuardedMemory::kBase + SlotAt(granted->slot),
                granted->key};
      return true;
    }
  }
  if (peer.is_swapped_out || peer.free_exposed.empty()) return false;
  // Seldom with a deregistered key.
  if (!peer.exposed->is_registered() && random_.Chance(7, 8)) return false;
  draft.operation->remote_slot = peer.free_exposed.back();
  peer.free_exposed.pop_back();
  draft.operation->needs_exposed = true;
  remote = peer.exposed->Remote(SlotAt(*draft.operation->remote_slot));
  return true;
}

// The list of a message whose bytes are in the local slot, in up to three elements or inline.
void Workload::Gather(Side& side, Draft& draft) {
  const Operation& operation = *draft.operation;
  const uint64_t offset = SlotAt(*operation.local_slot);
  const uint64_t length = operation.bytes.size();
  side.local->Store(offset, operation.bytes);
  if (length <= side.send_queue().limits().inline_max && random_.Chance(1, 3)) {
    draft.wqe.flags.inlined = true;
    draft.sges = {{reinterpret_cast<uintptr_t>(side.local->At(offset)),
                   static_cast<uint32_t>(length), Key(0)}};
    return;
  }
  const uint64_t first = random_.Below(length + 1);
  const uint64_t second = random_.Below(length - first + 1);
  draft.sges = {side.local->Bytes(offset, first), side.local->Bytes(offset + first, second),
                side.local->Bytes(offset + first + second, length - first - second)};
}

bool Workload::DraftMessage(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  Side& peer = connection.side(1 - from);
  if (!TakeLocal(side, draft)) return false;
  Operation& operation = *draft.operation;
  operation.bytes = Noise(random_, SomeLength());
  draft.wqe.opcode = random_.Chance(1, 2) ? SendOpcode::kSend : SendOpcode::kSendWithImmediate;
  if (GrantedKey* const granted = SomeIdleGranted(peer);
      granted != nullptr && random_.Chance(1, 3)) {
    draft.wqe.opcode = SendOpcode::kSendWithInvalidate;
    draft.wqe.invalidate = granted->key;
    operation.granted = granted->id;
    granted->state = GrantedKey::State::kEnding;
  }
  operation.invalidated = draft.wqe.invalidate.value();
  Gather(side, draft);
  return true;
}

bool Workload::DraftWrite(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  RemoteAddress remote;
  if (side.free_local.empty() || !TakeRemote(connection, from, draft, remote)) return false;
  CHECK(TakeLocal(side, draft));
  Operation& operation = *draft.operation;
  operation.bytes = Noise(random_, SomeLength());
  draft.wqe.opcode = random_.Chance(1, 4) ? SendOpcode::kWriteWithImmediate : SendOpcode::kWrite;
  draft.wqe.operand = remote;
  Gather(side, draft);
  connection.side(1 - from).exposed->Allow(operation.id, SlotAt(*operation.remote_slot),
                                           operation.bytes);
  return true;
}

bool Workload::DraftRead(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  RemoteAddress remote;
  if (side.free_local.empty() || !side.local->is_registered()) return false;
  if (!TakeRemote(connection, from, draft, remote)) return false;
  CHECK(TakeLocal(side, draft));
  Operation& operation = *draft.operation;
  operation.bytes = Noise(random_, SomeLength());
  draft.wqe.opcode = SendOpcode::kRead;
  draft.wqe.operand = remote;
  const uint64_t length = operation.bytes.size();
  const uint64_t offset = SlotAt(*operation.local_slot);
  const uint64_t first = random_.Below(length + 1);
  draft.sges = {side.local->Bytes(offset, first),
                side.local->Bytes(offset + first, length - first)};
  connection.side(1 - from).exposed->Store(SlotAt(*operation.remote_slot), operation.bytes);
  side.local->Allow(operation.id, offset, operation.bytes);
  return true;
}

bool Workload::DraftFetchAndAdd(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  if (connection.is_spared) return false;  // the counters are shared
  if (!side.local->is_registered() || !TakeLocal(side, draft)) return false;
  Operation& operation = *draft.operation;
  operation.word = 1 + random_.Next32();
  operation.immediate = static_cast<uint32_t>(random_.Below(Endnode::kCounters));
  draft.wqe.opcode = SendOpcode::kFetchAndAdd;
  draft.wqe.operand = queue::Atomic{
      .remote = connection.side(1 - from).node->counters->Remote(operation.immediate * kWord),
      .compare_or_add = operation.word};
  const uint64_t offset = SlotAt(*operation.local_slot);
  draft.sges = {side.local->Bytes(offset, kWord)};
  side.local->Allow(operation.id, offset, BytesOf(0), true);
  return true;
}

// Compare-and-swap or atomic write on the word of this direction, which nothing else writes: so the
// value that it will find is known.
bool Workload::DraftWord(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  Side& peer = connection.side(1 - from);
  if (peer.is_swapped_out || !peer.exposed->is_registered()) return false;
  if (!side.local->is_registered() || !TakeLocal(side, draft)) return false;
  Operation& operation = *draft.operation;
  operation.needs_exposed = true;
  const uint64_t at = SlotAt(swarm_.slots);
  const uint64_t local = SlotAt(*operation.local_slot);
  const uint64_t value = random_.Next64();
  operation.word = peer.model_word;
  if (random_.Chance(1, 3)) {
    draft.wqe.opcode = SendOpcode::kAtomicWrite;
    draft.wqe.operand = peer.exposed->Remote(at);
    side.local->Store(local, BytesOf(value));
    peer.model_word = value;
  } else {
    const bool swaps = random_.Chance(2, 3);
    draft.wqe.opcode = SendOpcode::kCompareAndSwap;
    draft.wqe.operand = queue::Atomic{.remote = peer.exposed->Remote(at),
                                      .compare_or_add = peer.model_word ^ (swaps ? 0 : 1),
                                      .swap = value};
    side.local->Allow(operation.id, local, BytesOf(0), true);
    if (swaps) peer.model_word = value;
  }
  draft.sges = {side.local->Bytes(local, kWord)};
  peer.exposed->Allow(operation.id, at, BytesOf(0), true);
  return true;
}

bool Workload::DraftFlush(Connection& connection, int from, Draft& draft) {
  Side& peer = connection.side(1 - from);
  if (peer.is_swapped_out || !peer.exposed->is_registered()) return false;
  draft.operation->needs_exposed = true;
  draft.wqe.opcode = SendOpcode::kFlush;
  draft.wqe.operand = queue::FlushOperand{
      .remote = peer.exposed->Remote(0), .length = 64, .global_visibility = true};
  return true;
}

void Workload::Submit(Connection& connection, int from, Draft& draft, Time now) {
  Side& side = connection.side(from);
  Side& peer = connection.side(1 - from);
  Operation& operation = *draft.operation;
  const bool is_grant_work = operation.granted != 0 && draft.granted == nullptr;
  if (!is_grant_work && random_.Chance(swarm_.illegal, 1000)) MakeIllegal(connection, from, draft);
  MarkHopeless(connection, from, draft);
  operation.opcode = draft.wqe.opcode;
  operation.posted_at = now;
  operation.is_signaled = random_.Chance(3, 4);
  if (queue::PropertiesOf(draft.wqe.opcode).carries_immediate)
    operation.immediate = random_.Next32();
  draft.wqe.id = WrId(operation.id);
  draft.wqe.immediate = Immediate(operation.immediate);
  draft.wqe.flags.signaled = operation.is_signaled;
  draft.wqe.flags.fence = random_.Chance(1, 8);
  draft.wqe.flags.solicited = random_.Chance(1, 8);
  if (draft.granted != nullptr) draft.granted->user = draft.operation;
  if (IsMessage(draft.wqe.opcode)) peer.inbound.push_back(draft.operation);
  side.sends.Posted(draft.operation);
  const auto posted =
      side.send_queue().Post({.wqe = draft.wqe, .sges = draft.sges, .pages = draft.pages});
  CHECK(posted.has_value());
  side.node->Kick(*side.qp, random_.Chance(1, 2));
  // Inline data was copied at the post: the program may reuse the buffer.
  if (draft.wqe.flags.inlined) {
    side.local->Store(SlotAt(*operation.local_slot), Noise(random_, operation.bytes.size()));
  }
}

}  // namespace verbena::sim
