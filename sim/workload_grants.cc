// Keys that programs grant each other, and revoke.

#include <algorithm>

#include "base/check.h"
#include "sim/noise.h"
#include "sim/workload.h"

namespace verbena::sim {
namespace {

using queue::SendOpcode;

constexpr Access kLentRights = Access::kRemoteRead | Access::kRemoteWrite;
constexpr Access kRegionRights = kLentRights | Access::kLocalRead | Access::kLocalWrite;
constexpr uint64_t kGrantedPagesMax = 3;

bool HasRoom(const Side& side) {
  const uint64_t posted = side.send_queue().end().value() - side.send_queue().begin().value();
  return posted < side.send_queue().limits().capacity;
}

WindowType WindowTypeOf(GrantedKey::Kind kind) { return static_cast<WindowType>(kind); }
static_assert(static_cast<int>(GrantedKey::Kind::kWindow2B) == static_cast<int>(WindowType::k2B));

memory::Accessor WhoIs(const Side& side) { return {side.node->pd, side.number}; }

}  // namespace

// An unused granted key, or a new one.
GrantedKey* Workload::FreeGranted(Side& side) {
  for (const auto& known : side.granted_keys) {
    const bool is_possible = !known->is_window() || side.exposed->is_registered();
    if (known->state == GrantedKey::State::kFree && is_possible) return known.get();
  }
  if (side.granted_keys.size() == swarm_.granted_keys_max) return nullptr;
  const bool is_region = random_.Chance(swarm_.registration, 1000);
  if (!is_region && !side.exposed->is_registered()) return nullptr;
  side.granted_keys.push_back(std::make_unique<GrantedKey>());
  GrantedKey& granted = *side.granted_keys.back();
  granted.kind = static_cast<GrantedKey::Kind>(is_region ? 3 + random_.Below(2) : random_.Below(3));
  MakeGranted(side, granted);
  return &granted;
}

void Workload::MakeGranted(Side& side, GrantedKey& granted) {
  granted.id = next_id_++;
  if (granted.is_window()) {
    granted.key = *side.node->core.windows.Allocate(side.node->pd, WindowTypeOf(granted.kind));
  } else if (granted.kind == GrantedKey::Kind::kQuickRegion) {
    granted.key = side.node->core.regions
                      .Reserve(side.node->pd, kGrantedPagesMax, PageShift(PageShift::kMin))
                      ->local;
  }
}

// Grants a free slot to the peer. False if that needed no work request, or is not possible.
bool Workload::DraftGrant(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  if (side.is_swapped_out || side.free_exposed.empty()) return false;
  GrantedKey* const granted = FreeGranted(side);
  if (granted == nullptr) return false;
  granted->slot = side.free_exposed.back();
  side.free_exposed.pop_back();
  granted->one_touch = random_.Chance(swarm_.one_touch, 1000);
  granted->zero_based = random_.Chance(1, 4);
  if (!granted->is_by_work_request()) {
    LendByCall(side, *granted, connection.is_spared || random_.Chance(1, 2));
    return false;
  }
  granted->state = GrantedKey::State::kComing;
  draft.operation->granted = granted->id;
  if (granted->is_window()) {
    DraftBind(side, *granted, draft);
  } else {
    DraftRegister(connection, from, *granted, draft);
  }
  draft.operation->lent = granted->next_key.value();
  Grant(side, *granted, granted->next_key);
  return true;
}

// From now on the key may be valid.
void Workload::Grant(Side& side, const GrantedKey& granted, Key key) {
  AccessOracle::Grant grant{
      .start = granted.zero_based ? 0 : GuardedMemory::kBase + SlotAt(granted.slot),
      .length = swarm_.slot_bytes,
      .rights = kLentRights};
  if (granted.is_window()) grant.region = side.exposed->keys().remote;
  if (granted.is_window() && granted.kind != GrantedKey::Kind::kWindow1) grant.only = side.number;
  side.node->access.Add(key, grant);
}

// By a call, with present or absent pages.
void Workload::LendByCall(Side& side, GrantedKey& granted, bool is_present) {
  side.node->access.Remove(granted.key);
  const uint64_t start = GuardedMemory::kBase + SlotAt(granted.slot);
  if (granted.is_window()) {
    const auto bound = side.node->core.windows.Bind(granted.key,
                                                    {.region = side.exposed->keys().local,
                                                     .start = KeyAddress(start),
                                                     .length = swarm_.slot_bytes,
                                                     .rights = kLentRights,
                                                     .zero_based = granted.zero_based,
                                                     .one_touch = granted.one_touch},
                                                    WhoIs(side));
    CHECK(bound.has_value());
    granted.key = *bound;
  } else {
    const auto keys = side.node->core.regions.Register(
        {.pd = side.node->pd,
         .start = KeyAddress(granted.zero_based ? 0 : start),
         .length = swarm_.slot_bytes,
         .rights = kRegionRights,
         .zero_based = granted.zero_based,
         .one_touch = granted.one_touch},
        memory::LinearBacking{.base = side.exposed->AddressOf(SlotAt(granted.slot))});
    CHECK(keys.has_value());
    granted.key = keys->remote;  // and local: they are the same
    const uint64_t first = SlotAt(granted.slot) / kPage;
    const uint64_t last = (SlotAt(granted.slot) + swarm_.slot_bytes - 1) / kPage;
    side.node->pager.Add(granted.key, *side.exposed, first, Paging::Kind::kLinear);
    if (is_present) {
      CHECK(
          side.node->core.regions.MapPages(granted.key, 0, last - first + 1, {}, true).has_value());
    }
  }
  granted.state = GrantedKey::State::kGood;
  Grant(side, granted, granted.key);
}

void Workload::DraftBind(Side& side, GrantedKey& granted, Draft& draft) {
  granted.next_key = NextKey(granted.key);
  draft.wqe.opcode = SendOpcode::kBindWindow;
  draft.wqe.operand = queue::WindowBind{.window = granted.key,
                                        .region = side.exposed->keys().local,
                                        .start = GuardedMemory::kBase + SlotAt(granted.slot),
                                        .length = swarm_.slot_bytes,
                                        .variant = granted.next_key.variant(),
                                        .rights = kLentRights,
                                        .zero_based = granted.zero_based,
                                        .one_touch = granted.one_touch};
}

// Alone, or followed by a message to the peer.
void Workload::DraftRegister(Connection& connection, int from, GrantedKey& granted, Draft& draft) {
  Side& side = connection.side(from);
  granted.next_key = granted.was_used ? NextKey(granted.key) : granted.key;
  granted.was_used = true;
  const uint64_t first = SlotAt(granted.slot) / kPage;
  const uint64_t last = (SlotAt(granted.slot) + swarm_.slot_bytes - 1) / kPage;
  for (uint64_t page = first; page <= last; ++page) {
    draft.pages.push_back(side.exposed->AddressOf(page * kPage).value());
  }
  side.node->pager.Add(granted.next_key, *side.exposed, first, Paging::Kind::kPageList);
  draft.wqe.opcode = SendOpcode::kRegister;
  draft.wqe.operand = queue::RegistrationOperand{
      .key = granted.next_key,
      .rights = kRegionRights,
      .page_shift = PageShift::kMin,
      .zero_based = granted.zero_based,
      .one_touch = granted.one_touch,
      .start = granted.zero_based ? 0 : GuardedMemory::kBase + SlotAt(granted.slot),
      .length = swarm_.slot_bytes,
      .first_offset = SlotAt(granted.slot) % kPage};
  if (random_.Chance(1, 2) || !side.local->is_registered() || !TakeLocal(side, draft)) return;
  draft.wqe.opcode = SendOpcode::kRegisterAndSend;
  draft.operation->bytes = Noise(random_, SomeLength());
  Gather(side, draft);
}

// A key that a work request of either side may invalidate, and that is not in use.
GrantedKey* Workload::SomeIdleGranted(Side& side) {
  for (const auto& granted : side.granted_keys) {
    const bool may_end = granted->state == GrantedKey::State::kGood && !granted->one_touch &&
                         granted->is_by_work_request() && granted->user == nullptr;
    if (may_end && !side.is_swapped_out) return granted.get();
  }
  return nullptr;
}

bool Workload::DraftInvalidate(Connection& connection, int from, Draft& draft) {
  GrantedKey* const granted = SomeIdleGranted(connection.side(from));
  if (granted == nullptr) return false;
  granted->state = GrantedKey::State::kEnding;
  draft.operation->granted = granted->id;
  draft.wqe.opcode = SendOpcode::kLocalInvalidate;
  draft.wqe.invalidate = granted->key;
  return true;
}

// An own work request on a granted key has ended.
void Workload::GrantWorkEnded(Side& side, Operation& operation, bool well) {
  GrantedKey* const granted = side.FindGranted(operation.granted);
  if (granted == nullptr || !well) return;
  if (operation.lent != 0) {
    Lent(side, *granted, operation);
  } else if (operation.opcode == SendOpcode::kLocalInvalidate) {
    Returned(side, *granted);
  }
}

// The peer may use the key, unless it has used and returned it since the message arrived.
void Workload::Lent(Side& owner, GrantedKey& granted, const Operation& operation) {
  if (granted.state != GrantedKey::State::kComing || granted.next_key.value() != operation.lent)
    return;
  // The adapter has dropped the previous key.
  if (granted.key != granted.next_key) owner.node->access.Remove(granted.key);
  granted.key = granted.next_key;
  granted.state = GrantedKey::State::kGood;
}

// The key is invalid: later operations with it are not allowed.
void Workload::Returned(Side& owner, GrantedKey& granted) {
  granted.state = GrantedKey::State::kFree;
  owner.node->access.Remove(granted.key);
  if (granted.kind == GrantedKey::Kind::kRegion) {
    CHECK(owner.node->core.regions.Deregister(granted.key).has_value());
    owner.node->pager.Remove(granted.key);
  }
  if (granted.user != nullptr) {
    // Its slot is not reused, because the operation of the peer may still succeed.
    granted.user->is_forbidden = true;
    owner.exposed->shadow().Forbid(granted.user->id);
    owner.exposed->shadow().Check(findings_);
    granted.user = nullptr;
    return;
  }
  owner.free_exposed.push_back(granted.slot);
}

// The key was valid for one message, which has arrived.
void Workload::Spent(Side& owner, GrantedKey& granted, const Operation& operation) {
  const Key key = granted.key;
  const auto kept = owner.node->access.Find(key);
  Returned(owner, granted);
  if (operation.opcode != SendOpcode::kRead || granted.kind == GrantedKey::Kind::kRegion || !kept)
    return;
  owner.node->access.Add(key, *kept);
  owner.node->access.Spend(key);
}

// Whether or not the key is in use.
void Workload::EndSomeGranted(Connection& connection, int owner, Time now) {
  Side& side = connection.side(owner);
  if (side.granted_keys.empty() || side.is_swapped_out) return;
  GrantedKey& granted = *side.granted_keys[random_.Below(side.granted_keys.size())];
  if (granted.state != GrantedKey::State::kGood) return;
  const bool may_post = !granted.one_touch && HasRoom(side);
  if (granted.is_by_work_request() && !may_post) return;
  if (granted.user != nullptr) {
    granted.user->is_endangered = true;
    connection.is_provoked = true;
  }
  if (granted.kind == GrantedKey::Kind::kWindow1) {
    const auto unbound = side.node->core.windows.Bind(granted.key, {}, WhoIs(side));
    CHECK(unbound.has_value());
    Returned(side, granted);
    granted.key = *unbound;
  } else if (granted.kind == GrantedKey::Kind::kRegion) {
    Returned(side, granted);
  } else {
    granted.state = GrantedKey::State::kEnding;
    Draft draft;
    draft.operation->id = next_id_++;
    draft.operation->granted = granted.id;
    draft.wqe.opcode = SendOpcode::kLocalInvalidate;
    draft.wqe.invalidate = granted.key;
    Submit(connection, owner, draft, now);
  }
}

// Operations through the region of the exposed memory, or a window on it, are not allowed any more.
// They are allowed again if the memory is only swapped out.
void Workload::LoseExposed(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  for (const auto& operation : connection.side(1 - owner).sends.posted()) {
    if (!operation->needs_exposed) continue;
    operation->is_endangered = true;
    side.is_swapped_out ? side.exposed->shadow().Suspend(operation->id)
                        : side.exposed->shadow().Forbid(operation->id);
  }
  // Its own work requests on windows may be refused, too.
  for (const auto& operation : side.sends.posted()) operation->is_endangered = true;
  connection.is_provoked = true;
  side.exposed->shadow().Check(findings_);
}

void Workload::SwapOut(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  if (side.is_swapped_out || !side.exposed->is_registered()) return;
  CHECK(side.node->core.regions.SwapOut(side.exposed->keys().local).has_value());
  side.node->access.Suspend(side.exposed->keys().remote, true);
  side.is_swapped_out = true;
  LoseExposed(connection, owner);
}

void Workload::SwapIn(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  if (!side.is_swapped_out) return;
  side.exposed->shadow().Check(findings_);
  CHECK(side.node->core.regions.SwapIn(side.exposed->keys().local).has_value());
  side.node->access.Suspend(side.exposed->keys().remote, false);
  side.is_swapped_out = false;
  side.exposed->shadow().Resume();
  for (const auto& operation : connection.side(1 - owner).sends.posted()) {
    const bool may = operation->fate == Fate::kSuccess && !operation->is_forbidden;
    if (may) side.exposed->shadow().AllowAgain(operation->id);
  }
}

// A program deregisters memory that its adapter may be using. The shared receive buffers and the
// counters stay, because other connections use them.
void Workload::DeregisterSome(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  GuardedMemory* const memories[] = {side.local.get(), side.exposed.get(), side.own_pool.guarded()};
  GuardedMemory* const guarded = memories[random_.Below(3)];
  if (guarded == nullptr || !guarded->is_registered() || side.is_swapped_out) return;
  const auto is_bound = [](const auto& granted) {
    return granted->is_window() && granted->state == GrantedKey::State::kGood &&
           !granted->one_touch;
  };
  const bool must_be_refused =
      guarded == side.exposed.get() && std::ranges::any_of(side.granted_keys, is_bound);
  if (!side.node->Deregister(*guarded)) return;
  if (must_be_refused) findings_.Add("access", "a region has gone while a window was bound to it");
  connection.has_lost_memory = connection.is_provoked = true;
  if (guarded == side.exposed.get()) return LoseExposed(connection, owner);
  guarded->shadow().Close();
  guarded->shadow().Check(findings_);
}

// Some of its pages are unmapped without notice to the tables.
void Workload::UnmapSome(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  GuardedMemory* const memories[] = {side.local.get(), side.exposed.get(), side.own_pool.guarded()};
  GuardedMemory* const guarded = memories[random_.Below(3)];
  if (guarded == nullptr) return;
  const uint64_t first = random_.Below(guarded->pages());
  guarded->Vanish(first, 1 + random_.Below(guarded->pages() - first));
  connection.has_lost_memory = connection.is_provoked = true;
}

}  // namespace verbena::sim
