#include "memory/protection/one_touch_keys.h"

#include <algorithm>

#include "base/check.h"
#include "base/when_memory.h"

namespace verbena::memory {

Result<TouchAction, Refusal> OneTouchKeys::Touch(Key key, const StreamSegment& segment,
                                                 const StreamPosition& stream,
                                                 const Accessor& who) {
  ProtectionEntry* entry = table_.Find(key.index());
  if (entry == nullptr || !entry->is_live()) return Fail(Refusal::kNoSuchKey);
  if (entry->state != EntryState::kValid) return Fail(Refusal::kNotValid);
  if (entry->remote_variant != key.variant()) return Fail(Refusal::kStaleVariant);
  const TouchAction action = DecideTouch(segment, entry->one_touch, entry->touched, stream);
  switch (action) {
    case TouchAction::kPlace:
    case TouchAction::kDrop:
      break;
    case TouchAction::kPlaceAndInvalidate:
    case TouchAction::kInvalidateAndTerminate:
      table_.MakeReserved(table_.SlotOf(key));
      break;
    case TouchAction::kPlaceAndRemember:
      // If there is no memory for the record, the key ends at its next use.
      entry->touched = true;
      entry->stored_last_byte = segment.last_byte;
      static_cast<void>(WhenMemory([&] {
        remembered_[who.qp].push_back({key, segment.last_byte});
      }));
      break;
  }
  return action;
}

bool OneTouchKeys::MayBePart(Key key, StreamNumber last_byte, QpNumber qp) const {
  const auto stream = remembered_.find(qp);
  return stream != remembered_.end() &&
         std::ranges::any_of(stream->second, [&](const Remembered& remembered) {
           return remembered.key == key && !IsBefore(remembered.last_byte, last_byte);
         });
}

void OneTouchKeys::StreamAdvanced(QpNumber qp, StreamNumber next_expected) {
  const auto stream = remembered_.find(qp);
  if (stream == remembered_.end()) return;
  std::erase_if(stream->second, [&](const Remembered& remembered) {
    if (!HasCaughtUp(remembered.last_byte, next_expected)) return false;
    const ProtectionEntry* entry = table_.Find(remembered.key.index());
    CHECK(entry != nullptr);
    if (entry->stored_last_byte == remembered.last_byte) EndIfTouched(remembered.key);
    return true;
  });
  if (stream->second.empty()) remembered_.erase(stream);
}

void OneTouchKeys::Hold(Key key) { table_.Hold(table_.SlotOf(key)); }

void OneTouchKeys::Release(Key key) { EndIfTouched(key); }

// The key may have ended in another way meanwhile, and the slot may have a new generation. A region
// that is swapped out can also be touched, and must not be swapped in again.
void OneTouchKeys::EndIfTouched(Key key) {
  const ProtectionEntry* entry = table_.Find(key.index());
  if (entry == nullptr || !entry->touched || entry->remote_variant != key.variant()) return;
  table_.MakeReserved(table_.SlotOf(key));
}

uint64_t OneTouchKeys::remembered_count() const {
  uint64_t count = 0;
  for (const auto& [qp, keys] : remembered_) count += keys.size();
  return count;
}

}  // namespace verbena::memory
