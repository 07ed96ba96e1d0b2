// What the programs post.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/check.h"
#include "sim/workload.h"

namespace verbena::sim {
namespace {

using memory::Rights;
using queue::SendOpcode;

constexpr uint64_t kWord = sizeof(uint64_t);
constexpr size_t kWindowsMax = 3;

std::vector<std::byte> BytesOf(uint64_t word) {
  std::vector<std::byte> bytes(kWord);
  std::memcpy(bytes.data(), &word, kWord);
  return bytes;
}

}  // namespace

std::vector<std::byte> Workload::Noise(uint64_t length) {
  std::vector<std::byte> noise(length);
  uint64_t word = 0;
  for (size_t i = 0; i < length; ++i, word >>= 8) {
    if (i % kWord == 0) word = random_.Next64();
    noise[i] = static_cast<std::byte>(word);
  }
  return noise;
}

uint64_t Workload::SomeLength() {
  if (random_.Chance(1, 20)) return 0;
  return 1 + random_.Below(random_.Chance(1, 3) ? swarm_.slot_bytes : swarm_.slot_bytes / 8);
}

bool Workload::Post(Connection& connection, int from, Time now) {
  Side& side = connection.side(from);
  const uint64_t posted = side.send_queue.end().value() - side.send_queue.begin().value();
  if (connection.broken || posted == side.send_queue.limits().capacity) return false;
  if (posted == 0 && side.send_cq.size() == 0) Drained(connection, from);
  Draft draft;
  draft.operation->id = next_id_++;
  bool ready = false;
  switch (random_.Below(12)) {
    case 0:
    case 1:
    case 2:
      ready = DraftMessage(connection, from, draft);
      break;
    case 3:
    case 4:
    case 5:
      ready = DraftWrite(connection, from, draft);
      break;
    case 6:
    case 7:
      ready = DraftRead(connection, from, draft);
      break;
    case 8:
      ready = DraftFetchAndAdd(connection, from, draft);
      break;
    case 9:
      ready = DraftWord(connection, from, draft);
      break;
    case 10:
      ready = random_.Chance(1, 2) ? DraftFlush(connection, from, draft)
                                   : DraftInvalidate(connection, from, draft);
      break;
    default:
      if (random_.Chance(swarm_.windows, 1000)) {
        ready = DraftBind(connection, from, draft);
      } else if (random_.Chance(1, 4)) {
        draft.wqe.opcode = SendOpcode::kDelay;
        draft.wqe.operand = queue::Delay{Microseconds(static_cast<int64_t>(random_.Below(200)))};
        ready = true;
      }
      break;
  }
  if (ready) Submit(connection, from, draft, now);
  return ready;
}

bool Workload::TakeLocal(Side& side, Draft& draft) {
  if (side.free_local.empty()) return false;
  draft.operation->local_slot = side.free_local.back();
  side.free_local.pop_back();
  return true;
}

// Bytes of the peer for a write or read: of its region, or through one of its windows.
bool Workload::TakeRemote(Connection& connection, int from, Draft& draft, queue::Remote& remote) {
  Side& peer = connection.side(1 - from);
  if (peer.is_swapped_out) return false;
  if (random_.Chance(swarm_.windows, 1000)) {
    for (const auto& window : peer.windows) {
      if (window->state != Window::State::kBound || window->user != nullptr) continue;
      draft.window = window.get();
      draft.operation->window = window->id;
      draft.operation->remote_slot = window->slot;
      remote = {window->zero_based ? 0 : Plot::kBase + SlotAt(window->slot),
                queue::KeyValue(window->key.value())};
      return true;
    }
  }
  if (peer.free_exposed.empty()) return false;
  draft.operation->remote_slot = peer.free_exposed.back();
  peer.free_exposed.pop_back();
  remote = peer.exposed->Remote(SlotAt(*draft.operation->remote_slot));
  return true;
}

// The list of a message whose bytes lie in the local slot, in up to three pieces or inline.
void Workload::Gather(Side& side, Draft& draft) {
  const Operation& operation = *draft.operation;
  const uint64_t offset = SlotAt(*operation.local_slot);
  const uint64_t length = operation.bytes.size();
  side.local->Store(offset, operation.bytes);
  if (length <= side.send_queue.limits().inline_max && random_.Chance(1, 3)) {
    draft.wqe.flags.inlined = true;
    draft.sges = {{reinterpret_cast<uintptr_t>(side.local->At(offset)),
                   static_cast<uint32_t>(length), queue::KeyValue(0)}};
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
  operation.bytes = Noise(SomeLength());
  draft.wqe.opcode = random_.Chance(1, 2) ? SendOpcode::kSend : SendOpcode::kSendWithImmediate;
  for (const auto& window : peer.windows) {
    const bool may_end = window->state == Window::State::kBound && !window->one_touch &&
                         window->type != memory::WindowType::kType1 && window->user == nullptr;
    if (!may_end || peer.is_swapped_out || !random_.Chance(1, 3)) continue;
    draft.wqe.opcode = SendOpcode::kSendWithInvalidate;
    draft.wqe.invalidate = queue::KeyValue(window->key.value());
    operation.window = window->id;
    window->state = Window::State::kEnding;
    break;
  }
  operation.invalidated = draft.wqe.invalidate.value();
  Gather(side, draft);
  return true;
}

bool Workload::DraftWrite(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  queue::Remote remote;
  if (side.free_local.empty() || !TakeRemote(connection, from, draft, remote)) return false;
  CHECK(TakeLocal(side, draft));
  Operation& operation = *draft.operation;
  operation.bytes = Noise(SomeLength());
  draft.wqe.opcode = random_.Chance(1, 4) ? SendOpcode::kWriteWithImmediate : SendOpcode::kWrite;
  draft.wqe.operand = remote;
  Gather(side, draft);
  connection.side(1 - from).exposed->Allow(operation.id, SlotAt(*operation.remote_slot),
                                           operation.bytes);
  return true;
}

bool Workload::DraftRead(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  queue::Remote remote;
  if (side.free_local.empty() || !TakeRemote(connection, from, draft, remote)) return false;
  CHECK(TakeLocal(side, draft));
  Operation& operation = *draft.operation;
  operation.bytes = Noise(SomeLength());
  // A key that dies with the message cannot serve it again when the answer is lost, or dropped for
  // want of pages.
  const bool may_need_again = !swarm_.link_is_perfect() || swarm_.eviction > 0;
  operation.is_endangered = draft.window != nullptr && draft.window->one_touch && may_need_again;
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
  if (!TakeLocal(side, draft)) return false;
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

// Compare-and-swap or atomic write on the word of this direction, which no one else writes: so what
// it will find is known now.
bool Workload::DraftWord(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  Side& peer = connection.side(1 - from);
  if (peer.is_swapped_out || !TakeLocal(side, draft)) return false;
  Operation& operation = *draft.operation;
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
  if (peer.is_swapped_out) return false;
  draft.wqe.opcode = SendOpcode::kFlush;
  draft.wqe.operand =
      queue::Flush{.remote = peer.exposed->Remote(0), .length = 64, .global_visibility = true};
  return true;
}

// A window of our own onto a free slot, for the peer.
bool Workload::DraftBind(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  if (side.is_swapped_out || side.free_exposed.empty()) return false;
  Window* window = nullptr;
  for (const auto& known : side.windows) {
    if (known->state == Window::State::kUnbound) window = known.get();
  }
  if (window == nullptr) {
    if (side.windows.size() == kWindowsMax) return false;
    side.windows.push_back(std::make_unique<Window>());
    window = side.windows.back().get();
    window->id = next_id_++;
    window->type = static_cast<memory::WindowType>(random_.Below(3));
    window->key = *side.node->core.windows.Allocate(side.node->pd, window->type);
  }
  window->slot = side.free_exposed.back();
  side.free_exposed.pop_back();
  window->one_touch = random_.Chance(swarm_.one_touch, 1000);
  window->zero_based = random_.Chance(1, 4);
  const Rights rights = Rights::kRemoteRead | Rights::kRemoteWrite;
  const uint64_t start = Plot::kBase + SlotAt(window->slot);
  if (window->type == memory::WindowType::kType1) {
    const auto bound =
        side.node->core.windows.Bind(window->key,
                                     {.region = side.exposed->keys().local,
                                      .start = memory::KeyAddress(start),
                                      .length = swarm_.slot_bytes,
                                      .rights = rights,
                                      .zero_based = window->zero_based,
                                      .one_touch = window->one_touch},
                                     {side.node->pd, memory::QpNumber(side.number.value())});
    CHECK(bound.has_value());
    window->key = *bound;
    window->state = Window::State::kBound;
    return false;  // a call, and no work request
  }
  const auto instance = static_cast<uint8_t>(window->key.instance().value() + 1);
  window->next_key = memory::Key(window->key.index(), memory::Instance(instance));
  window->state = Window::State::kBinding;
  draft.operation->window = window->id;
  draft.wqe.opcode = SendOpcode::kBindWindow;
  draft.wqe.operand =
      queue::WindowBind{.window = queue::KeyValue(window->key.value()),
                        .region = queue::KeyValue(side.exposed->keys().local.value()),
                        .start = start,
                        .length = swarm_.slot_bytes,
                        .instance = instance,
                        .rights = rights.bits(),
                        .zero_based = window->zero_based,
                        .one_touch = window->one_touch};
  return true;
}

bool Workload::DraftInvalidate(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  for (const auto& window : side.windows) {
    if (window->state != Window::State::kBound || window->one_touch || side.is_swapped_out)
      continue;
    if (window->type == memory::WindowType::kType1 || window->user != nullptr) continue;
    window->state = Window::State::kEnding;
    draft.operation->window = window->id;
    draft.wqe.opcode = SendOpcode::kLocalInvalidate;
    draft.wqe.invalidate = queue::KeyValue(window->key.value());
    return true;
  }
  return false;
}

// Turns an operation into one that must fail, and must do no harm.
void Workload::MakeIllegal(Connection& connection, int from, Draft& draft) {
  Operation& operation = *draft.operation;
  Side& peer = connection.side(1 - from);
  auto* const remote = std::get_if<queue::Remote>(&draft.wqe.operand);
  auto* const atomic = std::get_if<queue::Atomic>(&draft.wqe.operand);
  const bool is_word = atomic != nullptr || draft.wqe.opcode == SendOpcode::kAtomicWrite;
  if (atomic != nullptr && random_.Chance(1, 2)) {
    atomic->remote.address += 1 + random_.Below(7);
    operation.fate = Fate::kRemoteInvalid;
  } else if (atomic != nullptr) {
    atomic->remote.key = queue::KeyValue(atomic->remote.key.value() ^ 1);
    operation.fate = Fate::kRemoteDenied;
  } else if (remote != nullptr && !is_word && !operation.bytes.empty()) {
    const queue::Remote kinds[] = {
        {remote->address, queue::KeyValue(remote->key.value() ^ (1u << random_.Below(8)))},
        {remote->address - (Plot::kBase / 2), remote->key},
        {Plot::kBase + peer.exposed->size() - operation.bytes.size() + 1, remote->key},
        peer.local->Remote(0),            // no remote rights
        peer.node->counters->Remote(64),  // atomics only
    };
    *remote = kinds[random_.Below(std::size(kinds))];
    operation.fate = Fate::kRemoteDenied;
  } else if (draft.wqe.opcode == SendOpcode::kSend && !operation.bytes.empty()) {
    if (draft.wqe.flags.inlined) return;
    draft.sges[0] = draft.sges[1] = draft.sges[2] =
        connection.side(from).local->Bytes(SlotAt(*operation.local_slot), swarm_.slot_bytes);
    operation.fate = Fate::kRemoteInvalid;  // longer than any receive request
  } else if (draft.wqe.opcode == SendOpcode::kSendWithImmediate && !operation.bytes.empty()) {
    if (draft.wqe.flags.inlined) return;
    for (queue::Sge& sge : draft.sges) sge.key = queue::KeyValue(sge.key.value() ^ 1);
    operation.fate = Fate::kLocalDenied;
  } else {
    return;
  }
  // Nothing of it may show on the other side.
  if (is_word) return;
  if (operation.remote_slot) peer.exposed->shadow().Forbid(operation.id);
}

void Workload::Submit(Connection& connection, int from, Draft& draft, Time now) {
  Side& side = connection.side(from);
  Side& peer = connection.side(1 - from);
  Operation& operation = *draft.operation;
  const bool may_be_illegal = draft.window == nullptr && operation.window == 0;
  if (may_be_illegal && random_.Chance(swarm_.illegal, 1000)) MakeIllegal(connection, from, draft);
  operation.opcode = draft.wqe.opcode;
  operation.posted_at = now;
  operation.is_signaled = random_.Chance(3, 4);
  if (queue::PropertiesOf(draft.wqe.opcode).carries_immediate)
    operation.immediate = random_.Next32();
  draft.wqe.id = queue::WrId(operation.id);
  draft.wqe.immediate = queue::Immediate(operation.immediate);
  draft.wqe.flags.signaled = operation.is_signaled;
  draft.wqe.flags.fence = random_.Chance(1, 8);
  draft.wqe.flags.solicited = random_.Chance(1, 8);
  if (draft.window != nullptr) draft.window->user = draft.operation;
  const bool is_message = draft.wqe.opcode == SendOpcode::kSend ||
                          draft.wqe.opcode == SendOpcode::kSendWithInvalidate ||
                          queue::PropertiesOf(draft.wqe.opcode).carries_immediate;
  if (is_message) peer.inbound.push_back(draft.operation);
  side.sends.Posted(draft.operation);
  const auto posted = side.send_queue.Post({.wqe = draft.wqe, .sges = draft.sges});
  CHECK(posted.has_value());
  // Inline bytes were taken when they were posted: the program may use the buffer.
  if (draft.wqe.flags.inlined) {
    side.local->Store(SlotAt(*operation.local_slot), Noise(operation.bytes.size()));
  }
}

}  // namespace verbena::sim
