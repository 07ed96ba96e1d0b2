#include <algorithm>

#include "model/world.h"

namespace verbena::memory::model {

Access World::MakeRights() {
  const uint64_t draw = choices_.Below(8);
  if (draw < 4) return Access::kAll;
  const Access any = Access::FromBits(static_cast<uint8_t>(choices_.Below(64)));
  return draw < 7 ? any | NeededToGrant(any) : any;
}

RegionSpec World::MakeSpec(PdId pd) {
  RegionSpec spec;
  spec.pd = pd;
  switch (choices_.Below(16)) {
    case 0:
      spec.length = 0;
      break;
    case 1:
      spec.length = choices_.Between(1, 16);
      break;
    case 2:
      spec.length = choices_.Between(1, 12) * kSmallPage;
      break;
    case 3:
      spec.length = choices_.Between(1, 60000);
      break;
    default:
      spec.length = choices_.Between(1, 3 * kSmallPage);
  }
  spec.zero_based = choices_.Chance(1, 4);
  if (!spec.zero_based || choices_.Chance(1, 16)) {
    spec.start = KeyAddress(choices_.Chance(1, 8) ? uint64_t{0} - spec.length
                                                  : arena_.base() + choices_.Below(1 << 16) * 8);
    if (choices_.Chance(1, 32)) spec.start = KeyAddress(spec.start.value() | 1);
  }
  spec.rights = MakeRights();
  spec.one_touch = choices_.Chance(1, 6);
  spec.distinct_keys = choices_.Chance(1, 3);
  if (choices_.Chance(1, 32)) spec.address_kind = AddressKind::kVirtual;
  return spec;
}

World::PageList World::MakePageList(uint64_t length, GuestKey guest, PageShift shift) {
  PageList list;
  list.backing.page_shift = shift;
  list.backing.guest = guest;
  list.backing.writable = !choices_.Chance(1, 6);
  if (length > 0 && choices_.Chance(1, 2)) {
    list.backing.first_offset = choices_.Below(shift.bytes());
  }
  // Long lists are slow and find no more bugs.
  const uint64_t reach = list.backing.first_offset + std::min<uint64_t>(length, 1 << 17);
  uint64_t count = length == 0 ? 0 : (reach - 1) / shift.bytes() + 1;
  if (choices_.Chance(1, 24)) count += choices_.OneOf<uint64_t>({1, uint64_t{0} - (count > 0)});
  uint64_t page = 0;
  for (uint64_t i = 0; i < count; ++i) {
    // Sometimes the next page in memory, so that spans are merged.
    page =
        i > 0 && choices_.Chance(1, 4) ? page + shift.bytes() : PhysicalPage(guest, shift.bytes());
    list.pages.push_back(PhysicalAddress(page));
  }
  if (count > 0 && choices_.Chance(1, 48)) {
    list.pages[choices_.Below(count)] = PhysicalAddress(page + 1);
  }
  if (choices_.Chance(1, 64)) list.backing.first_offset += shift.bytes();
  list.backing.pages = list.pages;
  return list;
}

// Contiguous memory; sometimes far more than a leaf or a whole level of a table can hold.
LinearBacking World::MakeLinear(RegionSpec& spec, const ConsumerRecord* owner) {
  LinearBacking linear;
  linear.page_shift = MakeShift();
  const uint64_t bytes = linear.page_shift.bytes();
  if (choices_.Chance(1, 3)) linear.guest = PickGuest();
  uint64_t base = PhysicalPage(linear.guest, bytes);
  if (owner != nullptr && owner->has_segments && !owner->segments.empty() &&
      choices_.Chance(3, 4)) {
    base = owner->segments[choices_.Below(owner->segments.size())].first;
  }
  linear.base = PhysicalAddress(base + (choices_.Chance(1, 2) ? 0 : choices_.Below(bytes)));
  if (choices_.Chance(1, 8)) {
    linear.base = PhysicalAddress(kFarBase + choices_.Below(1 << 24));
    spec.length = choices_.OneOf<uint64_t>({600 * bytes, 1100 * bytes + 5, 300'000 * bytes});
  }
  if (choices_.Chance(1, 48)) linear.base = PhysicalAddress(UINT64_MAX - choices_.Below(9000));
  if (choices_.Chance(1, 96)) spec.length = uint64_t{1} << 63;
  return linear;
}

Backing World::MakeBacking(RegionSpec& spec, PageList& list) {
  const DomainRecord* domain = reference_.spaces.FindDomain(spec.pd);
  const ConsumerRecord* owner = domain == nullptr ? nullptr : &reference_.spaces.OwnerOf(spec.pd);
  const uint64_t draw = choices_.Below(12);
  if (draw < 4) return MakeLinear(spec, owner);
  if (draw < 8) {
    list = MakePageList(spec.length, choices_.Chance(1, 3) ? PickGuest() : kHost, MakeShift());
    return list.backing;
  }
  if (draw < 10) {
    const Entry* other = PickEntry(EntryType::kRegion);
    if (other != nullptr && !choices_.Chance(1, 8)) spec.length = other->length;
    return SharedBacking{PickKey(other, Origin::kLocal)};
  }
  if (!choices_.Chance(1, 8)) spec.zero_based = false;
  spec.address_kind = choices_.Chance(1, 4) ? AddressKind::kVirtual : AddressKind::kEffective;
  if (choices_.Chance(1, 2)) {
    spec.start = KeyAddress(0);
    spec.length = UINT64_MAX;
  } else {
    spec.start = KeyAddress(choices_.Below(kVirtualPages * kSmallPage));
  }
  return AddressSpaceBacking{};
}

void World::RegisterStep() {
  if (reference_.keys.taken() * 2 > options_.key_slots_max && !choices_.Chance(1, 5)) {
    return DeregisterStep();
  }
  RegionSpec spec = MakeSpec(PickDomain());
  PageList list;
  const Backing backing = MakeBacking(spec, list);
  const auto made = core_.regions.Register(spec, backing);
  Log("register: domain start length rights zero-based one-touch backing, key",
      {spec.pd.value(), spec.start.value(), spec.length, spec.rights.bits(), spec.zero_based,
       spec.one_touch, backing.index(), made.has_value() ? made->local.value() : 0});
  Expect("register", reference_.Register(spec, backing, ValueOf(made)), made);
}

void World::ReregisterStep() {
  const Entry* region = PickEntry(EntryType::kRegion);
  const Key key = PickKey(region, Origin::kLocal);
  RegionSpec spec =
      MakeSpec(region == nullptr || choices_.Chance(1, 3) ? PickDomain() : region->pd);
  PageList list;
  std::optional<Backing> backing;
  if (choices_.Chance(1, 2)) {
    backing = MakeBacking(spec, list);
  } else if (region != nullptr && !choices_.Chance(1, 8)) {
    spec.start = KeyAddress(region->start);
    spec.length = region->length;
    spec.zero_based = false;
    spec.address_kind = region->address_kind;
  }
  const auto made = core_.regions.Reregister(key, spec, backing);
  Log("reregister: key domain start length rights backing, key",
      {key.value(), spec.pd.value(), spec.start.value(), spec.length, spec.rights.bits(),
       backing.has_value() ? backing->index() : 99, made.has_value() ? made->local.value() : 0});
  Expect("reregister", reference_.Reregister(key, spec, backing, ValueOf(made)), made);
}

void World::DeregisterStep() {
  const Entry* region = nullptr;  // preferably an invalidated one
  for (int i = 0; i < 3 && (region == nullptr || region->state == EntryState::kValid); ++i) {
    region = PickEntry(EntryType::kRegion);
  }
  const Key key = PickKey(region, Origin::kRemote);
  Log("deregister", {key.value()});
  Expect("deregister", reference_.Deregister(key), core_.regions.Deregister(key));
}

void World::ReserveStep() {
  if (reference_.keys.taken() * 2 > options_.key_slots_max && !choices_.Chance(1, 6)) {
    return RegisterReservedStep();
  }
  const PdId pd = PickDomain();
  const PageShift shift = MakeShift();
  uint64_t pages_max = choices_.Between(1, 5);
  if (choices_.Chance(1, 32)) pages_max = choices_.OneOf<uint64_t>({0, 1ull << 37, 1ull << 20});
  const auto made = core_.regions.Reserve(pd, pages_max, shift);
  Log("reserve: domain pages shift, key",
      {pd.value(), pages_max, shift.value(), made.has_value() ? made->local.value() : 0});
  Expect("reserve", reference_.Reserve(pd, pages_max, shift, ValueOf(made)), made);
}

void World::RegisterReservedStep() {
  const auto is_waiting = [](const Entry& entry) {
    return entry.by_work_request && entry.state == EntryState::kReserved;
  };
  const Entry* region = nullptr;
  for (int i = 0; i < 8 && (region == nullptr || !is_waiting(*region)); ++i) {
    region = PickEntry(EntryType::kRegion);
  }
  Key key = PickKey(region, Origin::kLocal);
  // Registers a used key again: its owner picks the variant.
  if (region != nullptr && region->was_valid && !choices_.Chance(1, 8)) {
    const auto variant =
        choices_.Chance(7, 8) ? region->local.variant().value() + 1 : choices_.Below(256);
    key = Key(key.index(), KeyVariant(static_cast<uint8_t>(variant)));
  }
  const Accessor who = PickAccessor(region);
  RegionSpec spec = MakeSpec(choices_.Chance(1, 24) ? PickDomain() : who.pd);
  spec.one_touch = choices_.Chance(1, 2);
  PageShift shift = MakeShift();
  if (region != nullptr && region->pages && !choices_.Chance(1, 12)) {
    shift = *PageShift::FromBytes(region->pages->page_bytes);
    const uint64_t room = std::min<uint64_t>(region->pages->page_count, 8) * shift.bytes();
    if (!choices_.Chance(1, 6)) spec.length = std::min(spec.length, room / 2);
  }
  if (!spec.zero_based && choices_.Chance(1, 24)) spec.start = KeyAddress(UINT64_MAX - 20);
  const PageList list =
      MakePageList(spec.length, choices_.Chance(1, 40) ? PickGuest() : kHost, shift);
  const auto made = core_.regions.RegisterReserved(key, spec, list.backing, who);
  Log("register reserved: key domain start length rights one-touch pages",
      {key.value(), who.pd.value(), spec.start.value(), spec.length, spec.rights.bits(),
       spec.one_touch, list.pages.size()});
  Expect("register reserved",
         reference_.RegisterReserved(key, spec, list.backing, who, ValueOf(made)), made);
  if (made.has_value() && (made->local != key || made->remote != key)) {
    Differ("register reserved: not the requested key");
  }
}

void World::SwapStep() {
  // Preferably a region that is swapped out or touched.
  const auto is_busy = [](const Entry& entry) {
    return entry.state == EntryState::kSwappedOut || entry.touched;
  };
  const Entry* region = nullptr;
  for (int i = 0; i < 5 && (region == nullptr || !is_busy(*region)); ++i) {
    region = PickEntry(EntryType::kRegion);
  }
  const Key key = PickKey(region, Origin::kLocal);
  const bool is_out = region != nullptr && region->state == EntryState::kSwappedOut;
  if (is_out != choices_.Chance(1, 8)) {
    Log("swap in", {key.value()});
    Expect("swap in", reference_.SwapIn(key), core_.regions.SwapIn(key));
  } else {
    Log("swap out", {key.value()});
    Expect("swap out", reference_.SwapOut(key), core_.regions.SwapOut(key));
  }
}

}  // namespace verbena::memory::model
