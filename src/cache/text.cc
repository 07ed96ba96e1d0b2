// The table and the counters as text.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "verbena/registration_cache.h"
#include "verbena/shared_buffer.h"

namespace verbena {
namespace {

std::string Hexadecimal(uint64_t value) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return text.data();
}

std::string NamesOf(Access access) {
  constexpr std::array<std::pair<Access, const char*>, 6> kRights = {
      {{Access::kLocalRead, "local read"},
       {Access::kLocalWrite, "local write"},
       {Access::kRemoteRead, "remote read"},
       {Access::kRemoteWrite, "remote write"},
       {Access::kRemoteAtomic, "remote atomic"},
       {Access::kWindowBind, "window bind"}}};
  std::string names;
  for (const auto& [right, name] : kRights) {
    if (!access.Has(right)) continue;
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names.empty() ? "no rights" : names;
}

}  // namespace

const char* NameOf(CacheEntryStatus status) {
  switch (status) {
    case CacheEntryStatus::kKept:
      return "kept";
    case CacheEntryStatus::kInUse:
      return "in use";
    case CacheEntryStatus::kDetached:
      return "detached";
    case CacheEntryStatus::kParked:
      return "parked";
    case CacheEntryStatus::kChanging:
      return "changing";
  }
  return "";
}

std::string ToString(const CacheEntry& entry) {
  return std::to_string(entry.number) + "  " + Hexadecimal(entry.range.address) + "  " +
         std::to_string(entry.range.length) + "  lkey " + Hexadecimal(entry.l_key.value()) +
         "  rkey " + Hexadecimal(entry.r_key.value()) + "  " + NameOf(entry.status) + "  " +
         std::to_string(entry.handles) + "  " + NamesOf(entry.access);
}

std::string ToString(const SharedBufferEntry& entry) {
  const SharedBuffer& buffer = entry.buffer;
  return std::to_string(entry.number.value()) + "  " + buffer.name + "  " +
         std::to_string(entry.owner.pid) + " (user " + std::to_string(entry.owner.uid) + ")  " +
         std::to_string(buffer.offset) + "+" + std::to_string(buffer.length) + "  " +
         Hexadecimal(buffer.remote.address) + "  rkey " + Hexadecimal(buffer.remote.key.value()) +
         "  " + NamesOf(buffer.access) + "  " + std::to_string(entry.users) +
         (entry.users == 1 ? " user" : " users") +
         (buffer.contact.empty() ? "" : "  " + buffer.contact);
}

std::string ToString(const CacheStatistics& statistics) {
  std::string text;
  const auto add = [&](const char* name, uint64_t value) {
    if (value != 0) text += std::string(name) + ": " + std::to_string(value) + "\n";
  };
  add("registration cache hits, fast", statistics.hits_fast);
  add("registration cache hits, slow", statistics.hits_slow);
  add("registration cache misses", statistics.misses);
  add("registrations merged", statistics.merges);
  add("registrations changed in place", statistics.changes);
  add("registrations evicted", statistics.evictions);
  add("registrations expired", statistics.expirations);
  add("registrations invalidated", statistics.invalidations);
  add("registrations kept", statistics.entries);
  add("bytes registered", statistics.bytes);
  return text;
}

}  // namespace verbena
