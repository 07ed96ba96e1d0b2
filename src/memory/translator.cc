#include "memory/translator.h"

#include <optional>

#include "base/check.h"
#include "memory/page_walker.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kAtomicBytes = 8;

// The lettered checks, as questions about the entry.

// a: the entry is valid.
bool IsValid(const ProtectionEntry* entry) {
  return entry != nullptr && entry->state == EntryState::kValid;
}

Denial WhyNotValid(const ProtectionEntry* entry) {
  if (entry == nullptr || !entry->is_live()) return Denial::kNoSuchKey;
  return entry->state == EntryState::kSwappedOut ? Denial::kSwappedOut : Denial::kNotValid;
}

// b: windows serve remote access only, tasks only the messages of their protocol.
bool TypeFits(const ProtectionEntry& entry, Origin origin, bool remote_through_regions) {
  if (entry.type == EntryType::kRegion) {
    return origin == Origin::kLocal || (origin == Origin::kRemote && remote_through_regions);
  }
  return entry.type == EntryType::kWindow ? origin == Origin::kRemote : origin == Origin::kTask;
}

bool IsType2Window(const ProtectionEntry& entry) {
  return entry.type == EntryType::kWindow && entry.window_type != WindowType::kType1;
}

// c: the entry belongs to the one who asks.
bool DomainFits(const ProtectionEntry& entry, const Accessor& who) {
  if (entry.pd == who.pd) return true;
  return entry.type == EntryType::kWindow && entry.window_type == WindowType::kType2A;
}

bool QpFits(const ProtectionEntry& entry, const Accessor& who) {
  return !IsType2Window(entry) || entry.window.qp == who.qp;
}

// d: the key was made for this life of the entry.
bool InstanceFits(const ProtectionEntry& entry, Key key, Origin origin) {
  return entry.InstanceFor(origin) == key.instance();
}

// e: the bytes lie inside. The entry does not wrap around, so neither does what fits in it.
bool IsInside(const ProtectionEntry& entry, KeyAddress address, uint64_t length) {
  return address.value() >= entry.start && length <= entry.length &&
         address.value() - entry.start <= entry.length - length;
}

// f: this kind of access is granted.
bool HasRight(const ProtectionEntry& entry, Rights needed) { return entry.rights.Has(needed); }

// g: windows may be bound to this region; the message fits the command of this task.
bool PurposeFits(const ProtectionEntry& entry, Access access) {
  if (access == Access::kBind) return entry.rights.Has(Rights::kWindowBind);
  return entry.task.command_reads == (access == Access::kTaskReceive);
}

// IBA 9.4.5: atomics are on 8 bytes, naturally aligned.
bool IsAtomicWord(uint64_t address, uint64_t length) {
  return length == kAtomicBytes && address % kAtomicBytes == 0;
}

}  // namespace

// The checks in order. Inline, because Translate is the hot path and this most of it. With
// `common_only`, guests' memory and atomics are refused too, for the caller to ask again without.
template <bool common_only>
[[gnu::always_inline]] inline std::optional<Denial> Translator::Check(Key key, KeyAddress address,
                                                                      uint64_t length,
                                                                      Access access,
                                                                      const Accessor& who,
                                                                      Grant& grant) const {
  DCHECK(length > 0);
  const AccessTraits traits = TraitsOf(access);
  grant.slot = table_.SlotOf(key);
  const ProtectionEntry* const entry = table_.Find(grant.slot);
  if (!IsValid(entry)) return WhyNotValid(entry);

  // A window stands on its region, and that on its guest: they must be valid as well.
  grant.use = entry->use();
  grant.target = entry;
  grant.offset = address.value() - entry->start;
  if (entry->type == EntryType::kWindow) {
    grant.slot = entry->window.region;
    grant.target = &table_.EntryAt(grant.slot);
    grant.offset += entry->window.offset;
    if (!IsValid(grant.target)) return Denial::kRegionNotValid;
  }
  if (grant.target->guest != kHost) {
    if (common_only || guests_.Find(grant.target->guest) == nullptr) return Denial::kGuestGone;
  }

  if (!TypeFits(*entry, traits.origin, remote_through_regions_)) return Denial::kWrongType;
  if (!DomainFits(*entry, who)) return Denial::kWrongDomain;
  if (!QpFits(*entry, who)) return Denial::kWrongQp;
  if (!InstanceFits(*entry, key, traits.origin)) return Denial::kStaleInstance;
  if (!IsInside(*entry, address, length)) return Denial::kOutOfRange;
  if (!HasRight(*entry, traits.right)) return Denial::kNoRight;
  if (traits.has_purpose && !PurposeFits(*entry, access)) {
    return access == Access::kBind ? Denial::kNotBindable : Denial::kWrongCommand;
  }
  if (access == Access::kRemoteAtomic) {
    if (common_only || !IsAtomicWord(address.value(), length)) return Denial::kMisaligned;
  }
  return std::nullopt;
}

Result<Translator::Grant, Denial> Translator::Authorize(Key key, KeyAddress address,
                                                        uint64_t length, Access access,
                                                        const Accessor& who) const {
  Grant grant;
  if (const auto no = Check<false>(key, address, length, access, who, grant)) return Fail(*no);
  return grant;
}

Translation Translator::Translate(Key key, KeyAddress address, uint64_t length, Access access,
                                  const Accessor& who) const {
  // Nearly every access is granted and lies in one present page of the host. All others, and all
  // that is not ready at once, are asked in full.
  const InOnePage found = FindInOnePage(key, address, length, access, who);
  if (!found.is_there) return TranslateInFull(key, address, length, access, who);
  Translation result;
  Ready& ready = *std::get_if<Ready>(&result);
  ready.spans.Begin({found.at, length});
  ready.use = found.use;
  return result;
}

Translator::InOnePage Translator::FindInOnePage(Key key, KeyAddress address, uint64_t length,
                                                Access access, const Accessor& who) const {
  if (length == 0) return {};
  Grant grant;
  if (Check<true>(key, address, length, access, who, grant).has_value()) return {};
  const TranslationTable* const table = grant.target->table;
  if (table == nullptr) return {};
  PhysicalAddress at;
  const bool is_there = table->FindInOnePage(grant.target->first_offset + grant.offset, length,
                                             TraitsOf(access).writes, at);
  return {.at = MachineAddress(at.value()), .is_there = is_there, .use = grant.use};
}

Translation Translator::TranslateInFull(Key key, KeyAddress address, uint64_t length, Access access,
                                        const Accessor& who) const {
  Translation result;
  if (length == 0) return result;
  Grant grant;
  if (const auto no = Check<false>(key, address, length, access, who, grant)) {
    result = *no;
    return result;
  }
  const ProtectionEntry& target = *grant.target;
  const PageWalker walker(target, guests_, TraitsOf(access).writes);
  if (target.table != nullptr) {
    walker.ThroughTable(grant.offset, length, result);
  } else {
    const Consumer* owner = domains_.OwnerOf(target.pd);
    CHECK(owner != nullptr);
    walker.ThroughAddressSpace(*owner, grant.offset, length, result);
  }
  if (Ready* ready = std::get_if<Ready>(&result)) ready->use = grant.use;
  if (Fault* fault = std::get_if<Fault>(&result)) fault->region = table_.LocalKey(grant.slot);

  // A window may start at an odd byte: what is aligned for the peer need not be so in memory.
  if (access == Access::kRemoteAtomic) {
    const Ready* ready = AsReady(result);
    if (ready != nullptr && !IsAtomicWord(ready->spans[0].address.value(), length)) {
      result = Denial::kMisaligned;
    }
  }
  return result;
}

}  // namespace verbena::memory
