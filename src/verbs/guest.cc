#include "verbs/guest.h"

#include <set>
#include <utility>

#include "base/clock.h"
#include "host/broker_path.h"

namespace verbena::verbs {

using adapter::GuestEvent;
using adapter::QuiesceState;

ErrorOr<std::unique_ptr<Guest>> Guest::Attach(const Options& options, adapter::Adapter& adapter) {
  std::unique_ptr<Guest> guest(new Guest(adapter));
  const host::AgentOptions wanted{
      .socket = options.broker.empty() ? host::DefaultBrokerSocket() : options.broker,
      .name = options.guest,
      .limits = {
          .min = options.guest_min, .max = options.guest_max, .weight = options.guest_weight}};
  auto agent = host::Agent::Start(wanted, guest->memory_);
  if (!agent) return Fail(agent.error());
  guest->agent_ = std::move(*agent);
  return guest;
}

Guest::Memory::Memory(adapter::Adapter& adapter)
    : adapter_(adapter), control_(*adapter.guest_control()) {}

host::GuestMemory::Use Guest::Memory::QueryUse() {
  const auto use = control_.QueryUse();
  Use report{.use = {.faults = use.faults}, .resident = use.resident, .swapped = use.swapped};
  if (const auto counters = adapter_.Query()) {
    report.use.activity = counters->port.packets_sent + counters->port.packets_received;
    report.faults = {counters->budget.first_stage_faults, counters->budget.second_stage_faults};
  }
  return report;
}

// The broker uses the files while they are declared, so they stay open here until then.
std::vector<host::GuestMemory::File> Guest::Memory::Files() {
  std::set<uint32_t> known;
  for (const auto& [number, file] : files_) known.insert(number);
  std::map<uint32_t, FileDescriptor> now;
  std::vector<File> files;
  for (auto& file : control_.MemoryFiles(known)) {
    FileDescriptor& kept = now[file.number];
    kept = known.contains(file.number) ? std::move(files_.at(file.number)) : std::move(file.file);
    files.push_back({.number = file.number, .fd = kept.get(), .bytes = file.bytes});
  }
  files_ = std::move(now);
  return files;
}

std::vector<host::GuestMemory::Region> Guest::Memory::Regions() {
  std::vector<Region> regions;
  for (const adapter::GuestRegion& region : control_.Regions(false)) {
    regions.push_back({.number = host::RegionNumber(region.id.value()),
                       .bytes = region.bytes,
                       .out = region.state == QuiesceState::kOut ? region.quiesced : 0,
                       .word = region.word ? *region.word + 1 : 0,
                       .is_awaited = region.is_awaited});
  }
  return regions;
}

// The request for a region that the program has deregistered meanwhile is refused, and the next
// list does not have the region.
void Guest::Memory::Quiesce(host::RegionNumber region, host::RegionPart part, bool force) {
  const Key key(region.value());
  if (!force) {
    std::optional<Range> bytes;
    if (!part.is_whole()) bytes = Range{part.offset, part.length};
    // The broker has a deadline of its own, after which it forces.
    const auto state = control_.QuiesceRegion(key, bytes, Duration::Max());
    // Resets the region at the broker: the part has no pages that could be swapped out.
    const bool is_refused = !state && state.error().code != ErrorCode::kInUse;
    if (is_refused) refused_.push_back({Event::Kind::kReset, region});
    if (!state || *state != QuiesceState::kQuiet) return;
  }
  static_cast<void>(control_.SwapOutRegion(key, force));
}

void Guest::Memory::Resume(host::RegionNumber region) {
  static_cast<void>(control_.SwapInRegion(Key(region.value())));
}

// Resumes regions that are being quiesced: the next broker takes them for regions in use, and would
// never give them back.
void Guest::Memory::Withdraw() {
  for (const adapter::GuestRegion& region : control_.Regions(false)) {
    const bool is_on_its_way =
        region.state == QuiesceState::kQuiescing || region.state == QuiesceState::kQuiet;
    if (is_on_its_way) static_cast<void>(control_.SwapInRegion(region.id));
  }
}

std::vector<host::GuestMemory::Event> Guest::Memory::TakeEvents() {
  std::vector<Event> events = std::exchange(refused_, {});
  for (const GuestEvent& event : control_.TakeEvents(Now())) {
    const host::RegionNumber region(event.region.value());
    switch (event.kind) {
      case GuestEvent::Kind::kQuiet:
        static_cast<void>(control_.SwapOutRegion(event.region));
        break;
      case GuestEvent::Kind::kOverdue:
        break;
      case GuestEvent::Kind::kSwappedOut:
        events.push_back({Event::Kind::kQuiesced, region});
        break;
      case GuestEvent::Kind::kAwaited:
        events.push_back({Event::Kind::kInterest, region});
        break;
      case GuestEvent::Kind::kEnded:
        events.push_back({Event::Kind::kReset, region});
        break;
    }
  }
  return events;
}

}  // namespace verbena::verbs
