#include <algorithm>

#include "model/world.h"

namespace verbena::memory::model {

void World::WindowStep() {
  const bool crowded = reference_.keys.taken() * 8 > options_.key_slots_max * 7;
  if (choices_.Chance(1, 2) && (!crowded || choices_.Chance(1, 6))) {
    // In the domain of a region that it can be bound to.
    const Entry* region = PickEntry(EntryType::kRegion);
    const PdId pd = region == nullptr || choices_.Chance(1, 8) ? PickDomain() : region->pd;
    const auto type = choices_.OneOf({WindowType::k1, WindowType::k2A, WindowType::k2B});
    const auto made = core_.windows.Allocate(pd, type);
    Log("allocate window: domain type, key",
        {pd.value(), static_cast<uint64_t>(type), made.has_value() ? made->value() : 0});
    Expect("allocate window", reference_.AllocateWindow(pd, type, ValueOf(made)), made);
    return;
  }
  const Key key = PickKey(PickEntry(EntryType::kWindow), Origin::kRemote);
  Log("deallocate window", {key.value()});
  Expect("deallocate window", reference_.DeallocateWindow(key), core_.windows.Deallocate(key));
}

void World::BindStep() {
  const Entry* window = PickEntry(EntryType::kWindow);
  // A region for which the bind can succeed, if the search finds one soon.
  const auto will_do = [&](const Entry& region) {
    return region.pd == window->pd && region.state == EntryState::kValid &&
           region.rights.Has(Access::kWindowBind);
  };
  const Entry* region = PickEntry(EntryType::kRegion);
  for (int i = 0; i < 6 && region != nullptr && !will_do(*region); ++i) {
    region = PickEntry(EntryType::kRegion);
  }
  const Key key = PickKey(window, Origin::kRemote);
  WindowBinding binding;
  binding.region = PickKey(region, Origin::kLocal);
  if (region != nullptr && !choices_.Chance(1, 16)) {
    const uint64_t offset = OffsetIn(*region);
    binding.start = KeyAddress(region->start + offset);
    binding.length = LengthFrom(*region, offset);
  }
  binding.rights = choices_.Chance(1, 16)
                       ? Access::FromBits(static_cast<uint8_t>(choices_.Below(64)))
                       : choices_.OneOf({Access::kRemote, Access::kRemoteRead, Access::kRemoteWrite,
                                         Access::kRemote, Access::kNone});
  binding.zero_based = choices_.Chance(1, 3);
  binding.one_touch = choices_.Chance(1, 3);
  binding.by_index = choices_.Chance(1, 4);
  const auto now = key.variant().value();
  const auto next = choices_.Chance(3, 4) ? now + choices_.Below(2) : choices_.Below(256);
  const bool table_chooses =
      window != nullptr && choices_.Chance(1, window->window_type == WindowType::k1 ? 2 : 32);
  if (!table_chooses) binding.variant = KeyVariant(static_cast<uint8_t>(next));
  Accessor who = PickAccessor(window);
  who.qp = QpNumber(static_cast<uint32_t>(choices_.Below(kQps)));
  const auto made = core_.windows.Bind(key, binding, who);
  Log("bind: window region start length rights zero-based one-touch domain qp, key",
      {key.value(), binding.region.value(), binding.start.value(), binding.length,
       binding.rights.bits(), binding.zero_based, binding.one_touch, who.pd.value(), who.qp.value(),
       made.has_value() ? made->value() : 0});
  Expect("bind", reference_.Bind(key, binding, who, ValueOf(made)), made);
  if (made.has_value() && !table_chooses && *made != Key(key.index(), *binding.variant)) {
    Differ("bind: not the requested variant");
  }
}

void World::InvalidateKeyStep() {
  // Only regions registered by work request and windows of type 2 can be invalidated.
  const Entry* entry = nullptr;
  for (int i = 0; i < 4; ++i) {
    entry = PickEntry(choices_.Chance(1, 2) ? EntryType::kWindow : EntryType::kRegion);
    if (entry != nullptr && entry->state == EntryState::kValid &&
        (entry->by_work_request || entry->window_type != WindowType::k1)) {
      break;
    }
  }
  const Origin origin = choices_.Chance(1, 2) ? Origin::kLocal : Origin::kRemote;
  const Key key = PickKey(entry, origin);
  const Accessor who = PickAccessor(entry);
  Log("invalidate: key origin domain qp",
      {key.value(), static_cast<uint64_t>(origin), who.pd.value(), who.qp.value()});
  Expect("invalidate", reference_.Invalidate(key, origin, who), core_.Invalidate(key, origin, who));
}

void World::TaskStep() {
  const bool crowded = reference_.keys.taken() * 8 > options_.key_slots_max * 7;
  if (choices_.Chance(1, 2) && (!crowded || choices_.Chance(1, 6))) {
    TaskSpec spec;
    spec.pd = PickDomain();
    spec.length = choices_.Chance(1, 8) ? 0 : choices_.Between(1, 3 * kSmallPage);
    spec.reads = choices_.Chance(1, 2);
    if (choices_.Chance(1, 4)) {
      spec.rights = Access::FromBits(static_cast<uint8_t>(choices_.Below(64)));
    }
    spec.command = choices_.Below(1000);
    const PageList list =
        MakePageList(spec.length, choices_.Chance(1, 40) ? PickGuest() : kHost, MakeShift());
    const auto made = core_.tasks.Begin(spec, list.backing);
    Log("begin task: domain length reads, key",
        {spec.pd.value(), spec.length, spec.reads, made.has_value() ? made->value() : 0});
    Expect("begin task", reference_.BeginTask(spec, list.backing, ValueOf(made)), made);
    return;
  }
  const Entry* task = PickEntry(EntryType::kTask);
  const uint64_t command = task == nullptr ? 0 : task->command;
  const KeyIndex index = task == nullptr ? KeyIndex() : task->remote.index();
  const Key key = PickKey(task, Origin::kRemote);
  const Accessor who = PickAccessor(task);
  const auto ended = core_.tasks.End(key, who);
  Log("end task: key domain", {key.value(), who.pd.value()});
  Expect("end task", reference_.EndTask(key, who), ended);
  if (ended.has_value() && key.index() == index && *ended != command) {
    Differ("end task: wrong command");
  }
}

void World::TouchStep() {
  const auto can_be_touched = [](const Entry& entry) {
    return entry.one_touch && entry.state == EntryState::kValid;
  };
  const Entry* entry = nullptr;
  for (int i = 0; i < 6 && (entry == nullptr || !can_be_touched(*entry)); ++i) {
    entry = PickEntry(choices_.Chance(1, 2) ? EntryType::kRegion : EntryType::kWindow);
  }
  const Key key = PickKey(entry, Origin::kRemote);
  const Accessor who = PickAccessor(entry);
  StreamPosition stream;
  stream.next_expected = next_expected_[who.qp.value()];
  stream.window = static_cast<uint32_t>(choices_.OneOf({0, 1, 1000, 65535}));
  StreamSegment segment;
  segment.ends_message = choices_.Chance(3, 4);
  const uint64_t draw = choices_.Below(8);
  const uint32_t ahead = draw < 2   ? UINT32_MAX  // one byte behind
                         : draw < 3 ? stream.window
                         : draw < 4 ? static_cast<uint32_t>(choices_.Below(1ull << 32))
                                    : static_cast<uint32_t>(choices_.Below(1200));
  segment.last_byte = stream.next_expected + ahead;
  const auto action = core_.one_touch.Touch(key, segment, stream, who);
  Log("touch: key ends ahead window qp",
      {key.value(), segment.ends_message, ahead, stream.window, who.qp.value()});
  const auto expected = reference_.Touch(key, segment, stream, who.qp);
  if (action.has_value()) tally_.Count(*action);
  Expect("touch", expected.has_value() ? std::nullopt : Verdict<Refusal>(expected.error()), action);
  if (action.has_value() && expected.has_value() && *action != *expected) {
    Differ(std::string("touch: expected ") + NameOf(*expected) + ", got " + NameOf(*action));
  }
}

void World::StreamStep() {
  const auto qp = static_cast<uint32_t>(choices_.Below(kQps));
  if (choices_.Chance(1, 12)) {
    Log("stream ended: qp", {qp});
    core_.one_touch.StreamEnded(QpNumber(qp));
    reference_.StreamEnded(QpNumber(qp));
    return;
  }
  StreamNumber& next = next_expected_[qp];
  next = next + static_cast<uint32_t>(choices_.Chance(1, 16) ? 1u << 30 : choices_.Below(1500));
  Log("stream advanced: qp next", {qp, next.value()});
  core_.one_touch.StreamAdvanced(QpNumber(qp), next);
  reference_.StreamAdvanced(QpNumber(qp), next);
}

void World::TimeStep() {
  now_ += Seconds(static_cast<int64_t>(choices_.Below(31)));
  Log("time: seconds", {static_cast<uint64_t>(now_.nanoseconds() / 1'000'000'000)});
  core_.AdvanceTo(now_);
  reference_.keys.AdvanceTo(now_);
}

}  // namespace verbena::memory::model
