#include "model/world.h"

namespace verbena::memory::model {

void World::GuestStep() {
  const size_t count = reference_.spaces.guests().size();
  if (count == 0 || choices_.Chance(1, 2 + 3 * count)) {
    GuestSpec spec{kGuestPages * kSmallPage, static_cast<uint32_t>(choices_.Below(100))};
    if (choices_.Chance(1, 8)) {
      spec.memory_bytes = choices_.OneOf<uint64_t>({0, 5, 1ull << 60, kSmallPage});
    }
    if (choices_.Chance(1, 3)) spec.base = MachineAddress(PhysicalPage(kHost, kSmallPage));
    const auto made = core_.guests.Create(spec);
    Log("create guest: bytes attributes base",
        {spec.memory_bytes, spec.attributes, spec.base.value_or(MachineAddress(1)).value()});
    Expect("create guest", reference_.spaces.CreateGuest(spec, ValueOf(made)), made);
    if (made.has_value()) old_guests_.push_back(*made);
    return;
  }
  if (!choices_.Chance(1, 32)) return MapGuestStep();
  const GuestKey guest = PickGuest();
  Log("destroy guest", {guest.value()});
  Expect("destroy guest", reference_.spaces.DestroyGuest(guest), core_.guests.Destroy(guest));
}

void World::MapGuestStep() {
  const GuestKey guest = PickGuest();
  uint64_t from = choices_.Below(kGuestPages + 1) * kSmallPage;
  if (choices_.Chance(1, 64)) from += 8;
  const uint64_t count = choices_.Chance(1, 32) ? choices_.Below(100) : choices_.Below(12);
  if (choices_.Chance(1, 6)) {
    Log("unmap guest: guest from count", {guest.value(), from, count});
    Expect("unmap guest", reference_.spaces.UnmapGuest(guest, from, count),
           core_.guests.Unmap(guest, PhysicalAddress(from), count));
    return;
  }
  const bool writable = !choices_.Chance(1, 6);
  const GuestRecord* const record = reference_.spaces.FindGuest(guest);
  const bool in_place = record != nullptr && record->pages->linear_base.has_value();
  if (in_place && choices_.Chance(7, 8)) {
    Log("map guest in place: guest from count writable", {guest.value(), from, count, writable});
    Expect("map guest in place", reference_.spaces.MapInPlace(guest, from, count, writable),
           core_.guests.MapInPlace(guest, PhysicalAddress(from), count, writable));
    return;
  }
  const uint64_t to = PhysicalPage(kHost, kSmallPage);
  Log("map guest: guest from count to writable", {guest.value(), from, count, to, writable});
  Expect("map guest", reference_.spaces.MapGuest(guest, from, count, to, writable),
         core_.guests.Map(guest, PhysicalAddress(from), count, MachineAddress(to), writable));
}

ConsumerSpec World::MakeConsumer(const SharedTable** shared) {
  ConsumerSpec spec;
  spec.privileged = choices_.Chance(1, 3);
  spec.has_segments = choices_.Chance(1, 2);
  spec.is_flat_outside = choices_.Chance(1, 3);
  switch (choices_.Below(8)) {
    case 0:
      break;
    case 1:
      spec.table = ConsumerSpec::PrivateTable{.identity = true};
      break;
    case 2:
    case 3:
      *shared = &shared_tables_[choices_.Below(shared_tables_.size())];
      spec.table = ConsumerSpec::SharedTable{(*shared)->entries};
      break;
    case 4:
    case 5:
      spec.table = choices_.Chance(1, 16) ? nullptr : &inverted_;
      break;
    default:
      spec.table = ConsumerSpec::PrivateTable{};
  }
  return spec;
}

void World::ConsumerStep() {
  const size_t count = reference_.spaces.consumers().size();
  if (count == 0 || choices_.Chance(1, 1 + count)) {
    const SharedTable* shared = nullptr;
    const ConsumerSpec spec = MakeConsumer(&shared);
    const auto made = core_.consumers.Open(spec);
    Log("open consumer: privileged segments flat table",
        {spec.privileged, spec.has_segments, spec.is_flat_outside, spec.table.index()});
    const Pages* mirror = shared == nullptr ? nullptr : &shared->mirror;
    Expect("open consumer", reference_.spaces.OpenConsumer(spec, mirror, ValueOf(made)), made);
    if (made.has_value()) old_consumers_.push_back(*made);
    return;
  }
  const ConsumerId id = PickConsumer();
  Log("close consumer", {id.value()});
  Expect("close consumer", reference_.spaces.CloseConsumer(id), core_.consumers.Close(id));
}

void World::DomainStep() {
  const size_t count = reference_.spaces.domains().size();
  if (choices_.Chance(1, 1 + count)) {
    const ConsumerId owner = PickConsumer();
    const auto made = core_.domains.Allocate(owner);
    Log("allocate domain: owner", {owner.value()});
    Expect("allocate domain", reference_.spaces.AllocateDomain(owner, ValueOf(made)), made);
    if (made.has_value()) old_domains_.push_back(*made);
    return;
  }
  const PdId pd = PickDomain();
  if (choices_.Chance(1, 6)) EmptyDomain(pd);
  Log("deallocate domain", {pd.value()});
  Expect("deallocate domain", reference_.spaces.DeallocateDomain(pd, reference_.DomainInUse(pd)),
         core_.domains.Deallocate(pd));
}

// Removes the objects of a domain. Otherwise domains, and with them consumers and guests, would
// hardly ever be deallocated.
void World::EmptyDomain(PdId pd) {
  const auto& entries = reference_.entries();
  for (const bool windows : {true, false}) {
    for (size_t i = entries.size(); i-- > 0;) {
      const bool is_window = entries[i]->type == EntryType::kWindow;
      if (entries[i]->pd == pd && is_window == windows) RemoveEntry(*entries[i]);
    }
  }
}

void World::SegmentStep() {
  const ConsumerId id = PickConsumer();
  Segment segment;
  // Linear regions have effective addresses in the arena; regions of the address space have small
  // ones.
  const bool small = choices_.Chance(1, 2);
  const uint64_t room = small ? kVirtualPages * kSmallPage : Arena::kBytes;
  const uint64_t start = (small ? 0 : arena_.base()) + choices_.Below(16) * (room / 16);
  segment.start = EffectiveAddress(start + (choices_.Chance(1, 4) ? choices_.Below(9000) : 0));
  segment.length = choices_.Chance(1, 2) ? room / choices_.Between(1, 8) : choices_.Below(30000);
  segment.base = VirtualAddress(choices_.Chance(1, 3) ? choices_.Below(kVirtualPages * kSmallPage)
                                                      : segment.start.value());
  segment.rights =
      choices_.OneOf({Access::kLocalRead, Access::kLocalWrite, Access::kNone, Access::kAll,
                      Access::kAll, Access::kAll, Access::kAll, Access::kAll});
  if (choices_.Chance(1, 4)) {
    segment.guest = PickGuest();
    segment.base = VirtualAddress(choices_.Below(kGuestPages * kSmallPage));
  }
  if (choices_.Chance(1, 48)) segment.start = EffectiveAddress(UINT64_MAX - choices_.Below(9000));
  if (choices_.Chance(1, 48)) segment.base = VirtualAddress(UINT64_MAX - choices_.Below(9000));
  const auto change = choices_.OneOf({SegmentChange::kAdd, SegmentChange::kAdd, SegmentChange::kAdd,
                                      SegmentChange::kDelete, SegmentChange::kModify});
  Log("update segments: consumer change start length base rights guest",
      {id.value(), static_cast<uint64_t>(change), segment.start.value(), segment.length,
       segment.base.value(), segment.rights.bits(), segment.guest.value()});
  Expect("update segments", reference_.spaces.UpdateSegments(id, change, segment),
         core_.consumers.SegmentTableUpdate(id, change, segment));
}

void World::LocalPageStep() {
  const ConsumerId id = PickConsumer();
  const ConsumerRecord* consumer = reference_.spaces.FindConsumer(id);
  uint64_t page = choices_.Below(kVirtualPages) * kSmallPage;
  if (choices_.Chance(1, 4)) page = PhysicalPage(kHost, kSmallPage);
  if (choices_.Chance(1, 40)) page = choices_.OneOf<uint64_t>({UINT64_MAX - 4095, 1ull << 48, 12});
  if (choices_.Chance(1, 5)) {
    Log("unmap local page: consumer page", {id.value(), page});
    Expect("unmap local page", reference_.spaces.UnmapLocal(id, page),
           core_.consumers.UnmapLocalPage(id, VirtualAddress(page)));
    return;
  }
  uint64_t where = PhysicalPage(kHost, kSmallPage);
  const bool identity = consumer != nullptr && consumer->own && consumer->own->linear_base;
  if (identity && !choices_.Chance(1, 8)) where = page;
  if (choices_.Chance(1, 48)) where += 16;
  const bool writable = !choices_.Chance(1, 6);
  Log("map local page: consumer page where writable", {id.value(), page, where, writable});
  Expect("map local page", reference_.spaces.MapLocal(id, page, where, writable),
         core_.consumers.MapLocalPage(id, VirtualAddress(page), PhysicalAddress(where), writable));
}

// The owner of a shared table changes it; the core is not notified.
void World::SharedPageStep() {
  const size_t number = choices_.Below(shared_tables_.size());
  SharedTable& table = shared_tables_[number];
  const uint64_t page = choices_.Below(kSharedPages);
  if (choices_.Chance(1, 4)) {
    Log("owner unmaps: table page", {number, page});
    table.entries[page] = 0;
    table.mirror.erase(page);
    return;
  }
  const uint64_t where = PhysicalPage(kHost, kSmallPage);
  const bool writable = !choices_.Chance(1, 6);
  Log("owner maps: table page where writable", {number, page, where, writable});
  table.entries[page] = PageEntry(PhysicalAddress(where), writable).bits();
  table.mirror[page] = {where, writable};
}

}  // namespace verbena::memory::model
