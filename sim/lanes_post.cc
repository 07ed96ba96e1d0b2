// What the programs of lanes post.

#include <utility>

#include "base/check.h"
#include "sim/lanes.h"
#include "sim/noise.h"

namespace verbena::sim {

using queue::SendOpcode;

namespace {

constexpr Access kLocal = Access::kLocalRead | Access::kLocalWrite;
constexpr size_t kKeysMax = 64;        // per lane
constexpr uint32_t kSlotPagesMax = 3;  // of a slot
constexpr uint32_t kNoSuchSrq = 0xABCDE;
constexpr uint64_t kWrongSrq = 150;  // of 1000, where programs do what they must not

}  // namespace

// Lanes to managed memory post more, because pages are evicted only if there is much traffic
// between two uses; those with a registration cache, so that registrations are used again.
void Lanes::Post(Time now) {
  const bool is_busy = kind_ == LaneKind::kManaged || kind_ == LaneKind::kCached;
  const uint32_t most = is_busy ? swarm_.operations : swarm_.operations / 3;
  const uint64_t pauses = is_busy ? 4 : 7;  // of eight
  if (lanes_.empty() || posted_ >= most || random_.Chance(pauses, 8)) return;
  Lane& lane = *lanes_[random_.Below(lanes_.size())];
  for (uint64_t i = random_.Below(4); i > 0 && lane.has_room() && !lane.has_failed(); --i) {
    PostSome(lane, now);
    ++posted_;
  }
}

void Lanes::PostSome(Lane& lane, Time now) {
  if (kind_ == LaneKind::kTagged) return PostTagged(lane, now);
  if (kind_ == LaneKind::kManaged && random_.Chance(7, 8)) return PostManaged(lane, now);
  if (kind_ == LaneKind::kCached && random_.Chance(7, 8)) return PostCached(lane, now);
  if (kind_ == LaneKind::kReactive && random_.Chance(1, 3)) {
    const bool is_good = random_.Chance(3, 4) && lane.keys.size() < kKeysMax;
    return is_good ? PostRegistered(lane, now) : PostBadRegistration(lane, now);
  }
  !lane.free_exposed.empty() && random_.Chance(1, 3) ? PostWrite(lane, now) : PostSend(lane, now);
}

// An operation with bytes of random length in a slot of the sender.
std::shared_ptr<Operation> Lanes::MakeOperation(Lane& lane) {
  auto operation = std::make_shared<Operation>();
  operation->id = next_id_++;
  operation->local_slot = lane.free_local.back();
  lane.free_local.pop_back();
  const uint64_t longest = random_.Chance(1, 3) ? swarm_.slot_bytes : swarm_.slot_bytes / 8;
  operation->bytes = Noise(random_, random_.Below(longest + 1));
  operation->to = static_cast<uint32_t>(random_.Below(lane.host->receivers.size()));
  lane.local->Store(SlotAt(*operation->local_slot), operation->bytes);
  return operation;
}

void Lanes::PostWrite(Lane& lane, Time now) {
  const auto operation = MakeOperation(lane);
  operation->remote_slot = lane.free_exposed.back();
  lane.free_exposed.pop_back();
  const uint64_t offset = SlotAt(*operation->remote_slot);
  lane.exposed->Allow(operation->id, offset, operation->bytes);
  Submit(lane, operation, {.opcode = SendOpcode::kWrite, .operand = lane.exposed->Remote(offset)},
         {lane.local->Bytes(SlotAt(*operation->local_slot), operation->bytes.size())}, now);
}

// Sometimes to a receiver that does not exist.
void Lanes::PostSend(Lane& lane, Time now) {
  const auto operation = MakeOperation(lane);
  const uint64_t offset = SlotAt(*operation->local_slot);
  const uint64_t first = random_.Below(operation->bytes.size() + 1);
  const uint64_t wrong = kind_ == LaneKind::kXrc && swarm_.illegal > 0 ? kWrongSrq : 0;
  if (random_.Chance(wrong, 1000)) {
    operation->fate = Fate::kRemoteInvalid;
    lane.is_provoked = true;
  }
  const SendOpcode opcode =
      random_.Chance(1, 2) ? SendOpcode::kSend : SendOpcode::kSendWithImmediate;
  Submit(lane, operation, {.opcode = opcode},
         {lane.local->Bytes(offset, first),
          lane.local->Bytes(offset + first, operation->bytes.size() - first)},
         now);
}

// Row B2: a message with a key that the request before it registers.
void Lanes::PostRegistered(Lane& lane, Time now) {
  const auto operation = MakeOperation(lane);
  const uint64_t offset = SlotAt(*operation->local_slot);
  const uint64_t first = offset / kPage;
  const uint64_t last = (offset + swarm_.slot_bytes - 1) / kPage;
  const Key key =
      lane.from->core.regions.Reserve(lane.from->pd, kSlotPagesMax, PageShift(PageShift::kMin))
          ->local;
  lane.keys.push_back(key);
  lane.from->pager.Add(key, *lane.local, first, Paging::Kind::kPageList);
  std::vector<uint64_t> pages;
  for (uint64_t page = first; page <= last; ++page) {
    pages.push_back(lane.local->AddressOf(page * kPage).value());
  }
  auto registration = std::make_shared<Operation>();
  registration->id = next_id_++;
  Submit(lane, registration,
         {.opcode = SendOpcode::kRegister,
          .operand = queue::RegistrationOperand{.key = key,
                                                .rights = kLocal,
                                                .page_shift = PageShift::kMin,
                                                .start = GuardedMemory::kBase + offset,
                                                .length = swarm_.slot_bytes,
                                                .first_offset = offset % kPage}},
         {}, now, pages);
  Submit(lane, operation, {.opcode = SendOpcode::kSend},
         {{GuardedMemory::kBase + offset, static_cast<uint32_t>(operation->bytes.size()), key}},
         now);
}

// With a key that was never reserved.
void Lanes::PostBadRegistration(Lane& lane, Time now) {
  auto operation = std::make_shared<Operation>();
  operation->id = next_id_++;
  operation->fate = Fate::kNotRegistered;
  const uint32_t key = lane.local->keys().local.value() ^ 1;
  Submit(lane, operation,
         {.opcode = SendOpcode::kRegister,
          .operand = queue::RegistrationOperand{.key = Key(key),
                                                .rights = kLocal,
                                                .page_shift = PageShift::kMin,
                                                .start = GuardedMemory::kBase,
                                                .length = swarm_.slot_bytes}},
         {}, now, {lane.local->AddressOf(0).value()});
}

void Lanes::Submit(Lane& lane, std::shared_ptr<Operation> operation, queue::SendWqe wqe,
                   const std::vector<Sge>& sges, Time now, const std::vector<uint64_t>& pages) {
  operation->opcode = wqe.opcode;
  operation->posted_at = now;
  operation->is_signaled = random_.Chance(3, 4);
  operation->immediate = random_.Next32();
  wqe.id = WrId(operation->id);
  wqe.immediate = Immediate(operation->immediate);
  wqe.flags.signaled = operation->is_signaled;
  if (kind_ == LaneKind::kXrc) {
    const bool is_there = operation->fate == Fate::kSuccess;
    LaneReceiver& receiver = *lane.host->receivers[operation->to];
    wqe.remote_srq =
        SrqNumber(is_there ? receiver.shared.queue().xrc().number.value() : kNoSuchSrq);
  }
  if (IsMessage(wqe.opcode) && operation->fate == Fate::kSuccess) {
    lane.inbound.push_back(operation);
  }
  lane.sends.Posted(std::move(operation));
  CHECK(lane.sender->send_queue().Post({.wqe = wqe, .sges = sges, .pages = pages}).has_value());
  lane.from->Kick(*lane.sender, random_.Chance(1, 2));
}

}  // namespace verbena::sim
