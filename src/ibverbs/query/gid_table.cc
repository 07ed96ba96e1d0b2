#include "ibverbs/query/gid_table.h"

#include <algorithm>

#include "base/result.h"
#include "verbena/context.h"

namespace verbena::ibverbs {

ErrorOr<GidTable::Entries> GidTable::Read() {
  const auto present = verbena::Context::Gids();
  if (!present) return Fail(present.error());
  return Merge(*present);
}

size_t GidTable::ShownLength(const Entries& entries) {
  constexpr size_t kStep = 16;
  return std::min((entries.size() / kStep + 1) * kStep, kEntriesMax);
}

std::vector<GidEntry> GidTable::Present(const Entries& entries) {
  std::vector<GidEntry> present;
  for (const auto& entry : entries) {
    if (entry) present.push_back(*entry);
  }
  return present;
}

GidTable::Entries GidTable::Merge(const std::vector<GidEntry>& present) {
  const MutexLock lock(mutex_);
  Entries entries(places_.size());
  for (const GidEntry& entry : present) {
    // Two interfaces can have the same link-local address.
    const auto place = std::ranges::find_if(places_, [&](const Place& known) {
      return known.gid == entry.gid && known.interface_index == entry.interface_index;
    });
    if (place != places_.end()) {
      entries[static_cast<size_t>(place - places_.begin())] = entry;
    } else if (places_.size() < kEntriesMax) {
      places_.push_back({entry.gid, entry.interface_index});
      entries.emplace_back(entry);
    }
  }
  return entries;
}

GidTable& TheGidTable() {
  // Never destroyed, because static destructors of the program may still call the verbs.
  static GidTable& table = *new GidTable;
  return table;
}

}  // namespace verbena::ibverbs
