#include "model/world.h"

namespace verbena::memory::model {

PdId World::PickDomain() {
  const auto& domains = reference_.spaces.domains();
  if (domains.empty() || choices_.Chance(1, 40)) {
    return old_domains_[choices_.Below(old_domains_.size())];
  }
  return domains[choices_.Below(domains.size())].pd;
}

ConsumerId World::PickConsumer() {
  const auto& consumers = reference_.spaces.consumers();
  if (consumers.empty() || choices_.Chance(1, 40)) {
    return old_consumers_[choices_.Below(old_consumers_.size())];
  }
  return consumers[choices_.Below(consumers.size())].id;
}

GuestKey World::PickGuest() {
  const auto& guests = reference_.spaces.guests();
  if (guests.empty() || choices_.Chance(1, 40)) {
    return old_guests_[choices_.Below(old_guests_.size())];
  }
  return guests[choices_.Below(guests.size())].key;
}

const Entry* World::PickEntry(std::optional<EntryType> type) {
  const auto& entries = reference_.entries();
  if (entries.empty()) return nullptr;
  const size_t start = choices_.Below(entries.size());
  if (!type.has_value() || choices_.Chance(1, 24)) return entries[start].get();
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry* entry = entries[(start + i) % entries.size()].get();
    if (entry->type == *type) return entry;
  }
  return entries[start].get();  // an entry of another type is a test case, too
}

Key World::PickKey(const Entry* entry, Origin origin) {
  const auto& history = reference_.keys.history();
  const uint64_t draw = choices_.Below(64);
  if (entry != nullptr && draw < 54) return origin == Origin::kLocal ? entry->local : entry->remote;
  if (entry != nullptr && draw < 56) return origin == Origin::kLocal ? entry->remote : entry->local;
  if (entry != nullptr && draw < 58) {
    return Key(entry->local.index(), KeyVariant(static_cast<uint8_t>(choices_.Below(256))));
  }
  if (entry != nullptr && draw < 59) return Key(entry->local.value() ^ 1u << choices_.Below(32));
  if (!history.empty() && draw < 63) return history[choices_.Below(history.size())];
  return choices_.Chance(1, 2) ? Key() : Key(static_cast<uint32_t>(choices_.Below(1ull << 32)));
}

Accessor World::PickAccessor(const Entry* entry) {
  Accessor who{PdId(), QpNumber(static_cast<uint32_t>(choices_.Below(kQps)))};
  who.pd = entry == nullptr || choices_.Chance(1, 12) ? PickDomain() : entry->pd;
  const bool bound =
      entry != nullptr && entry->type == EntryType::kWindow && entry->state == EntryState::kValid;
  if (bound && !choices_.Chance(1, 8)) who.qp = entry->qp;
  return who;
}

}  // namespace verbena::memory::model
