#include "transport/cm/half_open.h"

#include "base/check.h"

namespace verbena::transport {

void HalfOpen::Add(wire::CommId id, const IpAddress& source) {
  const uint64_t number = next_number_++;
  CHECK(places_.try_emplace(id, Place{source, number}).second);
  Source& connections = sources_[source];
  connections.emplace(number, id);
  Recount(source, connections.size() - 1, connections.size());
}

void HalfOpen::Remove(wire::CommId id) {
  const auto place = places_.find(id);
  CHECK(place != places_.end());
  const auto source = sources_.find(place->second.source);
  source->second.erase(place->second.number);
  Recount(source->first, source->second.size() + 1, source->second.size());
  if (source->second.empty()) sources_.erase(source);
  places_.erase(place);
}

void HalfOpen::Recount(const IpAddress& source, std::size_t before, std::size_t after) {
  if (before > 0) by_count_.erase({before, source});
  if (after > 0) by_count_.emplace(after, source);
}

std::optional<wire::CommId> HalfOpen::FindVictimFor(const IpAddress& source) const {
  if (by_count_.empty()) return std::nullopt;
  const auto& [most, busiest] = *by_count_.rbegin();
  const auto own = sources_.find(source);
  const std::size_t own_count = own == sources_.end() ? 0 : own->second.size();
  if (most < own_count + 2) return std::nullopt;
  return sources_.at(busiest).begin()->second;
}

bool HalfOpen::IsConsistent() const {
  std::size_t count = 0;
  for (const auto& [source, connections] : sources_) {
    if (!by_count_.contains({connections.size(), source})) return false;
    count += connections.size();
  }
  return count == places_.size() && by_count_.size() == sources_.size();
}

}  // namespace verbena::transport
