#include "model/world.h"

#include <algorithm>
#include <cstdio>

#include "memory/copy/signal_guard.h"

namespace verbena::memory::model {

MemoryOptions World::MakeOptions(Choices& choices) {
  MemoryOptions options;
  options.key_slots_max = static_cast<uint32_t>(choices.OneOf({8, 33, 41}));
  options.key_quarantine = Seconds(60);
  options.consumers_max = 5;
  options.domains_max = static_cast<uint32_t>(choices.OneOf({2, 3, 5}));
  options.guests_max = 3;
  options.translation_tables_max = 34;
  options.remote_through_regions = !choices.Chance(1, 4);
  options.seed = choices.Below(1 << 16);
  return options;
}

World::World(Choices& choices, uint64_t log_from)
    : choices_(choices),
      log_from_(log_from),
      options_(MakeOptions(choices)),
      core_(options_),
      inverted_(core_.MakeInvertedPageTable(PhysicalAddress(arena_.base()), kInvertedFrames)),
      reference_(options_, arena_.base(), kInvertedFrames) {
  SignalGuard::Install();
}

bool World::Step() {
  struct Kind {
    uint64_t weight;
    void (World::*step)();
  };
  static constexpr std::array kKinds = {
      Kind{240, &World::AccessStep},       Kind{32, &World::RegisterStep},
      Kind{8, &World::ReregisterStep},     Kind{10, &World::DeregisterStep},
      Kind{7, &World::ReserveStep},        Kind{14, &World::RegisterReservedStep},
      Kind{12, &World::SwapStep},          Kind{26, &World::MapPagesStep},
      Kind{8, &World::UnmapPagesStep},     Kind{6, &World::InvalidatePagesStep},
      Kind{18, &World::WindowStep},        Kind{40, &World::BindStep},
      Kind{14, &World::InvalidateKeyStep}, Kind{12, &World::TaskStep},
      Kind{28, &World::TouchStep},         Kind{8, &World::StreamStep},
      Kind{2, &World::TimeStep},           Kind{3, &World::GuestStep},
      Kind{14, &World::MapGuestStep},      Kind{5, &World::ConsumerStep},
      Kind{8, &World::DomainStep},         Kind{12, &World::SegmentStep},
      Kind{16, &World::LocalPageStep},     Kind{6, &World::SharedPageStep},
  };
  static constexpr uint64_t kWeights = [] {
    uint64_t sum = 0;
    for (const Kind& kind : kKinds) sum += kind.weight;
    return sum;
  }();
  uint64_t draw = choices_.Below(kWeights);
  size_t i = 0;
  while (draw >= kKinds[i].weight) draw -= kKinds[i++].weight;
  (this->*kKinds[i].step)();
  if (!reference_.key_error().empty()) Differ(reference_.key_error());
  ++steps_;
  // Frequent checks while the state is small and cheap to check; less frequent later.
  if (steps_ % (steps_ < 2048 ? 32 : 1024) == 0) CheckState();
  return difference_.empty();
}

void World::CheckState() {
  if (!core_.IsConsistent()) Differ("the core is not consistent");
  if (core_.table.live_count() != reference_.entries().size()) Differ("number of entries");
  if (core_.table.retired_count() != reference_.keys.quarantined())
    Differ("number of retired keys");
  if (core_.translations.table_count() != reference_.spaces.page_set_count()) {
    Differ("number of translation tables");
  }
  if (core_.one_touch.remembered_count() != reference_.remembered_count()) {
    Differ("number of remembered touches");
  }
  if (!arena_.IsAsExpected()) Differ("bytes were written that should not have been");
}

void World::RemoveEntry(const Entry& entry) {
  const Accessor who{entry.pd, QpNumber(0)};
  const Key key = entry.remote;
  Log("remove: key type", {key.value(), static_cast<uint64_t>(entry.type)});
  switch (entry.type) {
    case EntryType::kRegion:
      return Expect("deregister", reference_.Deregister(key), core_.regions.Deregister(key));
    case EntryType::kWindow:
      return Expect("deallocate window", reference_.DeallocateWindow(key),
                    core_.windows.Deallocate(key));
    case EntryType::kTask:
      return Expect("end task", reference_.EndTask(key, who), core_.tasks.End(key, who));
  }
}

bool World::TearDown() {
  while (difference_.empty() && !reference_.entries().empty()) {
    const auto& entries = reference_.entries();
    // A region with bound windows cannot be removed, and exhausted choices always pick the first
    // entry. Removing windows first guarantees progress.
    const auto window = std::ranges::find(entries, EntryType::kWindow,
                                          [](const auto& entry) { return entry->type; });
    const bool window_first = choices_.exhausted() && window != entries.end();
    RemoveEntry(window_first ? **window : *entries[choices_.Below(entries.size())]);
  }
  while (difference_.empty() && !reference_.spaces.domains().empty()) {
    const auto& domains = reference_.spaces.domains();
    const PdId pd = domains[choices_.Below(domains.size())].pd;
    Expect("deallocate domain", reference_.spaces.DeallocateDomain(pd, false),
           core_.domains.Deallocate(pd));
  }
  while (difference_.empty() && !reference_.spaces.consumers().empty()) {
    const ConsumerId id = reference_.spaces.consumers().front().id;
    Expect("close consumer", reference_.spaces.CloseConsumer(id), core_.consumers.Close(id));
  }
  while (difference_.empty() && !reference_.spaces.guests().empty()) {
    const GuestKey guest = reference_.spaces.guests().front().key;
    Expect("destroy guest", reference_.spaces.DestroyGuest(guest), core_.guests.Destroy(guest));
  }
  CheckState();
  if (core_.table.live_count() != 0) Differ("entries are left");
  if (core_.translations.table_count() != 0) Differ("translation tables are left");
  if (core_.translations.reverse_record_count() != 0) Differ("reverse records are left");
  if (inverted_.mapped_count() != 0) Differ("frames of the inverted table are left");
  if (core_.domains.size() + core_.consumers.size() + core_.guests.size() != 0) {
    Differ("address spaces are left");
  }
  return difference_.empty();
}

void World::Differ(const std::string& what) {
  if (difference_.empty()) difference_ = what;
}

void World::Log(const char* what, std::initializer_list<uint64_t> numbers) {
  if (!logs()) return;
  std::fprintf(stderr, "%9llu  %s", static_cast<unsigned long long>(steps_), what);
  for (const uint64_t number : numbers) {
    std::fprintf(stderr, " %llx", static_cast<unsigned long long>(number));
  }
  std::fputc('\n', stderr);
}

}  // namespace verbena::memory::model
