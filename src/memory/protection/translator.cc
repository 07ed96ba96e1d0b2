#include "memory/protection/translator.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "memory/protection/page_walker.h"

namespace verbena::memory {

Result<Translator::Grant, Refusal> Translator::Authorize(Key key, KeyAddress address,
                                                         uint64_t length, AccessKind access,
                                                         const Accessor& who) const {
  Grant grant;
  if (const auto no = Check<false>(key, address, length, access, who, grant)) return Fail(*no);
  return grant;
}

// The second stage of an access that is in one piece of the guest's memory. Row E6.
Translator::SingleSpan Translator::FindThroughGuest(GuestKey guest, PhysicalAddress at,
                                                    uint64_t length, bool writes,
                                                    KeyUse use) const {
  const GuestTable::Guest* const found = guests_.Find(guest);
  if (found == nullptr) return {};
  // The first stage is the guest's to write: it may name memory that the guest does not have.
  const uint64_t last_page = (at.value() + (length - 1)) >> GuestTable::kPageShift.value();
  if (at.value() + (length - 1) < at.value() || last_page >= found->pages->page_count()) return {};
  PhysicalAddress machine;
  const bool is_there = found->pages->FindSingleSpan(at.value(), length, writes, machine);
  return {.at = MachineAddress(machine.value()), .is_there = is_there, .use = use};
}

Translation Translator::Translate(Key key, KeyAddress address, uint64_t length, AccessKind access,
                                  const Accessor& who) const {
  // Fast path: nearly every access is granted and lies in one present page, or in two contiguous
  // ones, at each stage. All other accesses take the full path.
  const SingleSpan found = FindSingleSpan(key, address, length, access, who);
  if (!found.is_there) return TranslateInFull(key, address, length, access, who);
  Translation result;
  Ready& ready = *std::get_if<Ready>(&result);
  ready.spans.Begin({found.at, length});
  ready.use = found.use;
  return result;
}

Translation Translator::TranslateInFull(Key key, KeyAddress address, uint64_t length,
                                        AccessKind access, const Accessor& who) const {
  Translation result;
  if (length == 0) return result;
  Grant grant;
  if (const auto no = Check<false>(key, address, length, access, who, grant)) {
    result = *no;
    return result;
  }
  const ProtectionEntry& target = *grant.target;
  const PageWalker walker(target, guests_, TraitsOf(access).writes);
  if (target.is_null) {
    FindNullSpans(length, TraitsOf(access).writes, *std::get_if<Ready>(&result));
  } else if (target.state == EntryState::kSwappedOut) {
    result = walker.AllAbsent(grant.offset, length);
  } else if (target.table != nullptr) {
    walker.ThroughTable(grant.offset, length, result);
  } else {
    const Consumer* owner = domains_.OwnerOf(target.pd);
    CHECK(owner != nullptr);
    walker.ThroughAddressSpace(*owner, grant.offset, length, result);
  }
  if (Ready* ready = std::get_if<Ready>(&result)) ready->use = grant.use;
  if (Fault* fault = std::get_if<Fault>(&result)) fault->region = table_.LocalKey(grant.slot);

  // A window may start at an odd byte: an address that is aligned for the peer may be misaligned in
  // memory.
  if (access == AccessKind::kRemoteAtomic) {
    const Ready* ready = AsReady(result);
    if (ready != nullptr && !internal::IsAtomicWord(ready->spans[0].address.value(), length)) {
      result = Refusal::kMisaligned;
    }
  }
  return result;
}

// Returns spans over the same bytes repeatedly, up to the capacity of the list.
void Translator::FindNullSpans(uint64_t length, bool writes, Ready& ready) const {
  const MachineAddress at = MachineAddressOf(writes ? scrap_.data() : zeros_.data());
  for (uint64_t left = length; left > 0;) {
    const uint64_t piece = std::min(left, kNullBytes);
    if (!ready.spans.Append({at, piece})) return;
    left -= piece;
  }
}

}  // namespace verbena::memory
