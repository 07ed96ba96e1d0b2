// The requests that programs of the unreliable services post.

#include <algorithm>

#include "base/check.h"
#include "sim/noise.h"
#include "sim/unreliable.h"

namespace verbena::sim {

using queue::SendOpcode;

void Unreliable::Post(Time now) {
  if (endpoints_.empty() || posted_ >= swarm_.operations / 2 || random_.Chance(7, 8)) return;
  UnreliableEndpoint& from = *endpoints_[random_.Below(endpoints_.size())];
  for (uint64_t i = random_.Below(3); i > 0; --i) {
    if (!IsReady(from, now)) return;
    Draft draft;
    draft.operation->id = next_id_++;
    const bool ready =
        from.is_connected() ? DraftConnected(from, draft) : DraftDatagram(from, draft);
    if (!ready) continue;
    Submit(from, draft, now);
    ++posted_;
  }
}

// A send queue that has failed is resumed after all its requests have ended.
bool Unreliable::IsReady(UnreliableEndpoint& endpoint, Time now) {
  const uint64_t posted =
      endpoint.qp->send_queue().end().value() - endpoint.qp->send_queue().begin().value();
  if (endpoint.has_overflowed()) return false;
  if (posted == 0 && endpoint.send_cq.size() == 0) {
    endpoint.sends.Drained(
        findings_, [&](Operation& operation, bool well) { Ended(endpoint, operation, well, now); });
    if (endpoint.state() == QpState::kSqe) {
      endpoint.sends.Resumed();
      endpoint.node->Modify(*endpoint.qp, QpState::kRts);
    }
  }
  return endpoint.state() == QpState::kRts &&
         posted < endpoint.qp->send_queue().limits().capacity && !endpoint.free_local.empty();
}

// A message of some length, in two pieces or inline.
void Unreliable::DraftBytes(UnreliableEndpoint& from, Draft& draft, uint64_t length_max) {
  Operation& operation = *draft.operation;
  operation.local_slot = from.free_local.back();
  from.free_local.pop_back();
  const uint64_t longest = random_.Chance(1, 3) ? length_max : length_max / 8;
  operation.bytes = Noise(random_, random_.Below(longest + 1));
  const uint64_t offset = SlotAt(*operation.local_slot);
  const uint64_t length = operation.bytes.size();
  from.local->Store(offset, operation.bytes);
  if (length <= from.qp->send_queue().limits().inline_max && random_.Chance(1, 3)) {
    draft.wqe.flags.inlined = true;
    draft.sges = {{reinterpret_cast<uintptr_t>(from.local->At(offset)),
                   static_cast<uint32_t>(length), Key(0)}};
    return;
  }
  const uint64_t first = random_.Below(length + 1);
  draft.sges = {from.local->Bytes(offset, first),
                from.local->Bytes(offset + first, length - first)};
}

bool Unreliable::DraftConnected(UnreliableEndpoint& from, Draft& draft) {
  UnreliableEndpoint* const to = Find(from.peer->number);
  CHECK(to != nullptr);
  draft.operation->to = to->number.value();
  const bool with_immediate = random_.Chance(1, 3);
  if (!to->free_exposed.empty() && random_.Chance(1, 2)) {
    draft.wqe.opcode = with_immediate ? SendOpcode::kWriteWithImmediate : SendOpcode::kWrite;
    DraftWrite(from, *to, draft);
    return true;
  }
  draft.wqe.opcode = with_immediate ? SendOpcode::kSendWithImmediate : SendOpcode::kSend;
  DraftBytes(from, draft, swarm_.slot_bytes);
  AddLetter(from, *to, draft);
  return true;
}

// Sometimes without a right: then nothing changes, and the sender gets no error.
void Unreliable::DraftWrite(UnreliableEndpoint& from, UnreliableEndpoint& to, Draft& draft) {
  DraftBytes(from, draft, swarm_.slot_bytes);
  Operation& operation = *draft.operation;
  operation.remote_slot = to.free_exposed.back();
  to.free_exposed.pop_back();
  RemoteAddress remote = to.exposed->Remote(SlotAt(*operation.remote_slot));
  to.exposed->Allow(operation.id, SlotAt(*operation.remote_slot), operation.bytes);
  if (!operation.bytes.empty() && random_.Chance(swarm_.illegal, 1000)) {
    operation.is_forbidden = true;
    to.exposed->shadow().Forbid(operation.id);
    const uint64_t length = operation.bytes.size();
    const RemoteAddress kinds[] = {
        {remote.address, Key(remote.key.value() ^ 1)},
        {GuardedMemory::kBase + to.exposed->size() - length + 1 + random_.Below(length),
         remote.key},
        to.local->Remote(0)};
    remote = kinds[random_.Below(std::size(kinds))];
  }
  draft.wqe.operand = remote;
  const bool has_receive = draft.wqe.opcode == SendOpcode::kWriteWithImmediate;
  if (has_receive && !operation.is_forbidden) AddLetter(from, to, draft);
}

// To a queue pair, or to a group.
bool Unreliable::DraftDatagram(UnreliableEndpoint& from, Draft& draft) {
  const std::optional<uint32_t> group = SomeGroup();
  UnreliableEndpoint& to = group ? from : *endpoints_[random_.Below(endpoints_.size())];
  if (to.is_connected()) return false;
  uint64_t longest = std::min<uint64_t>(swarm_.path_mtu, swarm_.slot_bytes - transport::kGrhSize);
  const bool is_illegal = random_.Chance(swarm_.illegal, 1000);
  const bool is_too_long = is_illegal && swarm_.slot_bytes > swarm_.path_mtu;
  if (is_too_long) longest = swarm_.slot_bytes;
  DraftBytes(from, draft, longest);
  Operation& operation = *draft.operation;
  operation.to = group ? wire::kMulticastQp.value() : to.number.value();
  if (operation.bytes.size() > swarm_.path_mtu) operation.fate = Fate::kTooLong;
  draft.wqe.opcode = random_.Chance(1, 3) ? SendOpcode::kSendWithImmediate : SendOpcode::kSend;
  // The highest bit means the Q_Key of the queue pair itself.
  const uint32_t q_key = random_.Chance(1, 2) ? Endnode::kQKey.value() : uint32_t{1} << 31;
  const bool is_wrong = is_illegal && !is_too_long;
  draft.wqe.operand =
      Datagram{.handle = group ? from.node->HandleOf(*group) : AddressHandleId(to.node->number),
               .qp = QpNumber(operation.to),
               .q_key = QKey(is_wrong ? Endnode::kQKey.value() + 1 : q_key)};
  if (operation.fate == Fate::kSuccess && !is_wrong) {
    group ? AddGroupLetter(from, *group, draft) : AddLetter(from, to, draft);
  }
  return true;
}

Letter Unreliable::MakeLetter(const Draft& draft) {
  Operation& operation = *draft.operation;
  Letter letter{.id = operation.id,
                .bytes = operation.bytes,
                .immediate = {},
                .is_write = operation.remote_slot.has_value()};
  if (queue::PropertiesOf(draft.wqe.opcode).carries_immediate) {
    operation.immediate = random_.Next32();
    letter.immediate = operation.immediate;
  }
  return letter;
}

void Unreliable::AddLetter(UnreliableEndpoint& from, UnreliableEndpoint& to, const Draft& draft) {
  draft.operation->is_awaited = true;
  const auto promise = MessagesOracle::PromiseOf(swarm_, to.is_connected());
  to.messages.try_emplace(from.number.value(), promise).first->second.Sent(MakeLetter(draft));
}

void Unreliable::Submit(UnreliableEndpoint& from, Draft& draft, Time now) {
  Operation& operation = *draft.operation;
  operation.opcode = draft.wqe.opcode;
  operation.posted_at = now;
  operation.is_signaled = random_.Chance(3, 4);
  draft.wqe.id = WrId(operation.id);
  draft.wqe.immediate = Immediate(operation.immediate);
  draft.wqe.flags.signaled = operation.is_signaled;
  draft.wqe.flags.solicited = random_.Chance(1, 8);
  from.sends.Posted(draft.operation);
  CHECK(from.qp->send_queue().Post({.wqe = draft.wqe, .sges = draft.sges}).has_value());
  from.node->Kick(*from.qp, random_.Chance(1, 2));
  // Inline data was copied at the post: the program may reuse the buffer.
  if (draft.wqe.flags.inlined) {
    from.local->Store(SlotAt(*operation.local_slot), Noise(random_, operation.bytes.size()));
  }
}

}  // namespace verbena::sim
