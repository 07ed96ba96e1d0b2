#include "model/reference.h"

#include <algorithm>

namespace verbena::memory::model {

Entry* Reference::Find(KeyIndex index) const {
  for (const auto& entry : entries_) {
    if (entry->local.index() == index) return entry.get();
  }
  return nullptr;
}

Result<Entry*, MemoryError> Reference::FindLive(Key key, EntryType type) const {
  Entry* entry = Find(key.index());
  if (entry == nullptr) return Fail(MemoryError::kNoSuchKey);
  if (entry->local != key && entry->remote != key) return Fail(MemoryError::kNoSuchKey);
  if (entry->type != type) return Fail(MemoryError::kWrongType);
  return entry;
}

Entry& Reference::Add(EntryType type, PdId pd, RegionKeys made) {
  Entry& entry = *entries_.emplace_back(std::make_unique<Entry>());
  entry.type = type;
  entry.pd = pd;
  keys.Take(made.local.index());
  Renew(entry, made);
  return entry;
}

void Reference::Renew(Entry& entry, RegionKeys made) {
  const KeyIndex before = entry.local.index();
  if (entry.local != Key() && keys.MustMove(before)) {
    keys.Take(made.local.index());
    keys.Give(before);
  }
  keys.HandOut(made.local);
  if (made.remote != made.local) keys.HandOut(made.remote);
  entry.local = made.local;
  entry.remote = made.remote;
  entry.was_valid = false;
}

void Reference::Remove(Entry& entry) {
  keys.Give(entry.local.index());
  std::erase_if(entries_, [&](const auto& e) { return e.get() == &entry; });
  spaces.DropUnused();
}

bool Reference::DomainInUse(PdId pd) const {
  return std::ranges::any_of(entries_, [&](const auto& entry) { return entry->pd == pd; });
}

bool Reference::HasWindows(const Entry& region) const {
  return std::ranges::any_of(entries_, [&](const auto& entry) {
    return entry->type == EntryType::kWindow && entry->state == EntryState::kValid &&
           entry->region == &region;
  });
}

Result<TouchAction, Refusal> Reference::Touch(Key key, const StreamSegment& segment,
                                              const StreamPosition& stream, QpNumber qp) {
  Entry* entry = Find(key.index());
  if (entry == nullptr) return Fail(Refusal::kNoSuchKey);
  if (entry->state != EntryState::kValid) return Fail(Refusal::kNotValid);
  if (entry->remote != key) return Fail(Refusal::kStaleVariant);

  // The decision table of row B9, line by line.
  if (!segment.ends_message) return TouchAction::kPlace;
  if (!entry->one_touch) return TouchAction::kPlace;
  const auto end = [&] {
    entry->state = EntryState::kReserved;
    entry->touched = false;
  };
  if (entry->touched) {
    end();
    return TouchAction::kInvalidateAndTerminate;
  }
  if (segment.last_byte + 1 == stream.next_expected) {
    end();
    return TouchAction::kPlaceAndInvalidate;
  }
  const StreamNumber window_end = stream.next_expected + stream.window;
  const bool in_window = Distance(stream.next_expected, segment.last_byte) >= 0 &&
                         Distance(segment.last_byte, window_end) > 0;
  if (!in_window) return TouchAction::kDrop;
  entry->touched = true;
  entry->touched_at = segment.last_byte;
  remembered_.push_back({qp, key, segment.last_byte});
  return TouchAction::kPlaceAndRemember;
}

void Reference::StreamAdvanced(QpNumber qp, StreamNumber next_expected) {
  std::erase_if(remembered_, [&](const Remembered& remembered) {
    if (remembered.qp != qp || !IsBefore(remembered.last_byte, next_expected)) return false;
    Entry* entry = Find(remembered.key.index());
    if (entry != nullptr && entry->touched && entry->remote == remembered.key &&
        entry->touched_at == remembered.last_byte) {
      entry->state = EntryState::kReserved;
      entry->touched = false;
    }
    return true;
  });
}

void Reference::StreamEnded(QpNumber qp) {
  std::erase_if(remembered_, [&](const Remembered& remembered) { return remembered.qp == qp; });
}

}  // namespace verbena::memory::model
