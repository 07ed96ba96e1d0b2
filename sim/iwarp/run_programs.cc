// The programs of run.h.

#include <algorithm>
#include <array>

#include "base/check.h"
#include "sim/iwarp/run.h"

namespace verbena::sim {

using queue::SendOpcode;
using wire::TerminateCode;

void IwarpRun::PostSome() {
  IwarpSide& side = *sides_[random_.Below(2)];
  IwarpSide& peer = *sides_[1 - side.number];
  if (left_to_post_ == 0 || side.qp->state() == QpState::kErr) return;
  --left_to_post_;
  if (Chance(plan_.drains) && side.qp->state() == QpState::kRts) {
    side.is_draining = true;
    side.qp->Drain();
    return;
  }
  if (!expected_code_ && Chance(plan_.illegal)) return PostIllegal(side, peer);
  PostOne(side, peer);
}

bool IwarpRun::PostOne(IwarpSide& side, IwarpSide& peer) {
  switch (random_.Below(8)) {
    case 0:
    case 1:
    case 2:
      return PostSend(side, peer);
    case 3:
    case 4:
      return PostWrite(side, peer);
    case 5:
    case 6:
      return PostRead(side, peer);
    default:
      return PostAtomic(side, peer);
  }
}

std::shared_ptr<Operation> IwarpRun::NewOperation(SendOpcode opcode) {
  auto operation = std::make_shared<Operation>();
  operation->id = next_id_++;
  operation->opcode = opcode;
  operation->is_signaled = is_healed_ || random_.Chance(3, 4);
  return operation;
}

void IwarpRun::Post(IwarpSide& side, const std::shared_ptr<Operation>& operation,
                    const queue::SendOperand& operand, const std::vector<Sge>& sges) {
  queue::SendWqe wqe;
  wqe.id = WrId(operation->id);
  wqe.opcode = operation->opcode;
  wqe.flags.signaled = operation->is_signaled;
  wqe.flags.fence = random_.Chance(1, 10);
  wqe.flags.solicited = random_.Chance(1, 4);
  wqe.immediate = Immediate(operation->immediate);
  wqe.operand = operand;
  CHECK(side.send_queue->Post({.wqe = wqe, .sges = sges}).has_value());
  Say(side, std::string("posts ") + queue::NameOf(operation->opcode) + " " +
                std::to_string(operation->id) + ", " + std::to_string(operation->bytes.size()) +
                " bytes");
  side.completions.Posted(operation);
  ++result_.posted;
}

IwarpRun::Bytes IwarpRun::DrawBytes(Random& random, uint64_t size) {
  Bytes bytes(size);
  uint64_t noise = random.Next64();
  for (std::byte& byte : bytes) {
    noise = noise * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(noise >> 56);
  }
  return bytes;
}

// The bytes of a slot, in one or two pieces.
std::vector<Sge> IwarpRun::SplitOf(IwarpSide& side, uint32_t slot, uint64_t size) {
  const uint64_t at = slot * IwarpSide::kSlot;
  if (size < 2 || random_.Chance(1, 2)) return {side.local->Bytes(at, size)};
  const uint64_t first = 1 + random_.Below(size - 1);
  return {side.local->Bytes(at, first), side.local->Bytes(at + first, size - first)};
}

bool HasRoom(const IwarpSide& side, uint32_t depth) {
  return side.send_queue->end().value() - side.send_queue->begin().value() < depth;
}

bool IwarpRun::PostSend(IwarpSide& side, IwarpSide& peer) {
  // The program knows how many receive requests its peer has.
  if (!HasRoom(side, plan_.depth) || peer.expected.size() >= IwarpSide::kSlots) return false;
  const auto slot = IwarpSide::TakeSlot(side.local_used, random_);
  if (!slot) return false;
  const auto operation = NewOperation(SendOpcode::kSend);
  operation->local_slot = slot;
  operation->bytes = DrawBytes(random_, random_.Below(plan_.message_max + 1));
  side.local->Store(*slot * IwarpSide::kSlot, operation->bytes);
  peer.expected.push_back({.id = operation->id, .bytes = operation->bytes});
  Post(side, operation, {}, SplitOf(side, *slot, operation->bytes.size()));
  return true;
}

// A one-touch window over a slot of the peer's memory.
std::optional<RemoteAddress> IwarpRun::GrantOnce(IwarpSide& peer, uint32_t slot, Access right) {
  if (peer.window_is_used || !Chance(plan_.one_touch)) return std::nullopt;
  const auto bound =
      peer.core.windows.Bind(peer.window,
                             {.region = peer.exposed->keys().local,
                              .start = KeyAddress(GuardedMemory::kBase + slot * IwarpSide::kSlot),
                              .length = IwarpSide::kSlot,
                              .rights = right,
                              .zero_based = true,
                              .one_touch = true,
                              .by_index = true},
                             peer.who());
  CHECK(bound.has_value());
  peer.window = *bound;
  peer.window_is_used = true;
  return RemoteAddress{0, *bound};
}

bool IwarpRun::PostWrite(IwarpSide& side, IwarpSide& peer) {
  const bool with_immediate = random_.Chance(1, 4);
  if (!HasRoom(side, plan_.depth)) return false;
  if (with_immediate && peer.expected.size() >= IwarpSide::kSlots) return false;
  const auto slot = IwarpSide::TakeSlot(side.local_used, random_);
  if (!slot) return false;
  const auto target = IwarpSide::TakeSlot(peer.exposed_used, random_);
  if (!target) {
    side.local_used[*slot] = false;
    return false;
  }
  const auto operation =
      NewOperation(with_immediate ? SendOpcode::kWriteWithImmediate : SendOpcode::kWrite);
  operation->local_slot = slot;
  operation->remote_slot = target;
  operation->bytes = DrawBytes(random_, random_.Below(plan_.message_max + 1));
  side.local->Store(*slot * IwarpSide::kSlot, operation->bytes);
  const uint64_t at = *target * IwarpSide::kSlot;
  peer.exposed->Allow(operation->id, at, operation->bytes);
  RemoteAddress remote = peer.exposed->Remote(at);
  if (!operation->bytes.empty()) {
    if (const auto once = GrantOnce(peer, *target, Access::kRemoteWrite)) {
      remote = *once;
      operation->granted = once->key.value();
    }
  }
  side.posted.push_back(operation);
  if (with_immediate) {
    operation->immediate = random_.Next32();
    peer.expected.push_back({.id = operation->id + 1,
                             .written = static_cast<uint32_t>(operation->bytes.size()),
                             .immediate = operation->immediate});
  }
  Post(side, operation, remote, SplitOf(side, *slot, operation->bytes.size()));
  return true;
}

bool IwarpRun::PostRead(IwarpSide& side, IwarpSide& peer) {
  if (!HasRoom(side, plan_.depth)) return false;
  const auto slot = IwarpSide::TakeSlot(side.local_used, random_);
  if (!slot) return false;
  const auto source = IwarpSide::TakeSlot(peer.exposed_used, random_);
  if (!source) {
    side.local_used[*slot] = false;
    return false;
  }
  const auto operation = NewOperation(SendOpcode::kRead);
  operation->local_slot = slot;
  operation->remote_slot = source;
  operation->bytes = DrawBytes(random_, random_.Below(plan_.message_max + 1));
  const uint64_t at = *source * IwarpSide::kSlot;
  peer.exposed->Store(at, operation->bytes);
  side.local->Allow(operation->id, *slot * IwarpSide::kSlot, operation->bytes);
  RemoteAddress remote = peer.exposed->Remote(at);
  if (!operation->bytes.empty()) {
    if (const auto once = GrantOnce(peer, *source, Access::kRemoteRead)) {
      remote = *once;
      operation->granted = once->key.value();
    }
  }
  side.posted.push_back(operation);
  Post(side, operation, remote, SplitOf(side, *slot, operation->bytes.size()));
  return true;
}

bool IwarpRun::PostAtomic(IwarpSide& side, IwarpSide& peer) {
  if (!HasRoom(side, plan_.depth)) return false;
  const auto slot = IwarpSide::TakeSlot(side.local_used, random_);
  if (!slot) return false;
  const auto operation = NewOperation(SendOpcode::kFetchAndAdd);
  operation->is_signaled = true;
  operation->local_slot = slot;
  operation->word = 1 + random_.Below(1'000'000);
  operation->bytes = Bytes(8);
  side.local->Allow(operation->id, *slot * IwarpSide::kSlot, operation->bytes, true);
  peer.exposed->Allow(operation->id, IwarpSide::kCounter, operation->bytes, true);
  side.posted.push_back(operation);
  Post(side, operation,
       queue::Atomic{.remote = peer.exposed->Remote(IwarpSide::kCounter),
                     .compare_or_add = operation->word},
       {side.local->Bytes(*slot * IwarpSide::kSlot, 8)});
  return true;
}

// A request that the peer must refuse, and the code that it must say so with.
void IwarpRun::PostIllegal(IwarpSide& side, IwarpSide& peer) {
  struct Kind {
    SendOpcode opcode;
    TerminateCode code;
    RemoteAddress remote;
  };
  const uint64_t end = GuardedMemory::kBase + peer.exposed->size();
  const Key good = peer.exposed->keys().remote;
  const Key bad(good.index(), KeyVariant(static_cast<uint8_t>(good.variant().value() + 1)));
  const Key no_right = peer.receives->keys().remote;
  const std::array kinds = {
      Kind{SendOpcode::kWrite, TerminateCode::kDdpTaggedInvalidStag, {GuardedMemory::kBase, bad}},
      Kind{SendOpcode::kWrite, TerminateCode::kDdpTaggedBounds, {end, good}},
      Kind{SendOpcode::kWrite, TerminateCode::kDdpTaggedWrap, {UINT64_MAX - 2, good}},
      Kind{SendOpcode::kWrite, TerminateCode::kRdmapAccess, {GuardedMemory::kBase, no_right}},
      Kind{SendOpcode::kRead, TerminateCode::kRdmapInvalidStag, {GuardedMemory::kBase, bad}},
      Kind{SendOpcode::kRead, TerminateCode::kRdmapBounds, {end - 1, good}},
      Kind{SendOpcode::kRead, TerminateCode::kRdmapAccess, {GuardedMemory::kBase, no_right}},
      Kind{SendOpcode::kRead, TerminateCode::kRdmapWrap, {UINT64_MAX - 2, good}},
  };
  if (!HasRoom(side, plan_.depth)) return;
  const auto slot = IwarpSide::TakeSlot(side.local_used, random_);
  if (!slot) return;
  const Kind& kind = kinds[random_.Below(kinds.size())];
  const auto operation = NewOperation(kind.opcode);
  operation->local_slot = slot;
  operation->bytes = Bytes(8);
  const bool is_read = kind.opcode == SendOpcode::kRead;
  // A write is complete when it is framed, whatever the peer says to it.
  operation->fate = is_read ? Fate::kRemoteRefused : Fate::kSuccess;
  if (is_read) {
    operation->is_signaled = true;
    side.local->Allow(operation->id, *slot * IwarpSide::kSlot, {});
  }
  expected_code_ = kind.code;
  illegal_side_ = side.number;
  Post(side, operation, kind.remote, {side.local->Bytes(*slot * IwarpSide::kSlot, 8)});
}

}  // namespace verbena::sim
