#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/result.h"
#include "memory/access.h"
#include "memory/address.h"
#include "memory/protection/entry_checks.h"
#include "memory/protection/protection_table.h"
#include "memory/protection/translation.h"
#include "memory/spaces/guest_table.h"
#include "memory/spaces/protection_domain.h"
#include "memory/translation/translation_table.h"

namespace verbena::memory {

// Translates every access of the adapter to memory, local or remote.
//
// It changes nothing, so that a translation may be repeated, and is independent of queue pairs,
// packets and time. REQUIRES: no thread changes the tables meanwhile.
class Translator {
 public:
  Translator(const ProtectionTable& table, const ProtectionDomains& domains,
             const GuestTable& guests, bool remote_through_regions)
      : table_(table),
        domains_(domains),
        guests_(guests),
        remote_through_regions_(remote_through_regions) {}

  // Checks whether `who` may make this access, and finds the bytes. The checks run in order, a to
  // g; the first that fails is the result. An access of no bytes is ready with any key: InfiniBand
  // and iWARP both specify that the key is not checked then.
  Translation Translate(Key key, KeyAddress address, uint64_t length, AccessKind access,
                        const Accessor& who) const;

  // The fast path for the common case: granted, and in one present page, or in two contiguous
  // ones, at each stage. If it fails, Translate has the reason.
  struct SingleSpan {
    MachineAddress at;
    bool is_there = false;
    KeyUse use = KeyUse::kMany;
  };
  [[nodiscard]] SingleSpan FindSingleSpan(Key key, KeyAddress address, uint64_t length,
                                          AccessKind access, const Accessor& who) const;

  // The granted bytes of an access: from `offset` on in the memory of a region or task.
  struct Grant {
    const ProtectionEntry* target = nullptr;
    SlotNumber slot;  // of the target
    uint64_t offset = 0;
    KeyUse use = KeyUse::kMany;
  };

  // The checks alone, for a whole message of any length. REQUIRES: length > 0.
  Result<Grant, Refusal> Authorize(Key key, KeyAddress address, uint64_t length, AccessKind access,
                                   const Accessor& who) const;

 private:
  template <bool common_only>
  std::optional<Refusal> Check(Key key, KeyAddress address, uint64_t length, AccessKind access,
                               const Accessor& who, Grant& grant) const;
  [[gnu::noinline]] Translation TranslateInFull(Key key, KeyAddress address, uint64_t length,
                                                AccessKind access, const Accessor& who) const;
  void FindNullSpans(uint64_t length, bool writes, Ready& ready) const;
  [[gnu::noinline]] SingleSpan FindThroughGuest(GuestKey guest, PhysicalAddress at, uint64_t length,
                                                bool writes, KeyUse use) const;

  const ProtectionTable& table_;
  const ProtectionDomains& domains_;
  const GuestTable& guests_;
  const bool remote_through_regions_;
  // The memory of null regions: zeros to read, and bytes to write that no access reads.
  static constexpr uint64_t kNullBytes = 4'096;
  using Nothing = std::array<std::byte, kNullBytes>;
  alignas(64) const Nothing zeros_{};
  alignas(64) mutable Nothing scrap_{};
};

// The checks in order. With `common_only`, atomics, and swapped-out memory that faults are refused
// too; the caller then repeats the checks without it. The second stage finds out whether a guest is
// still there.
template <bool common_only>
[[gnu::always_inline]] inline std::optional<Refusal> Translator::Check(Key key, KeyAddress address,
                                                                       uint64_t length,
                                                                       AccessKind access,
                                                                       const Accessor& who,
                                                                       Grant& grant) const {
  using namespace internal;
  DCHECK(length > 0);
  const AccessTraits traits = TraitsOf(access);
  grant.slot = table_.SlotOf(key);
  const ProtectionEntry* const entry = table_.Find(grant.slot);
  if (!IsValid(entry) && (common_only || !FaultsWhenOut(entry))) return WhyNotValid(entry);

  // The region of a window and the guest of a region must be valid, too.
  grant.use = entry->use();
  grant.target = entry;
  grant.offset = address.value() - entry->start;
  if (entry->type == EntryType::kWindow) {
    grant.slot = entry->window.region;
    grant.target = &table_.EntryAt(grant.slot);
    grant.offset += entry->window.offset;
    if (!IsValid(grant.target) && (common_only || !FaultsWhenOut(grant.target))) {
      return Refusal::kRegionNotValid;
    }
  }
  if (!common_only && grant.target->guest != kHost) {
    if (guests_.Find(grant.target->guest) == nullptr) return Refusal::kGuestGone;
  }

  if (!TypeFits(*entry, traits.origin, remote_through_regions_)) return Refusal::kWrongType;
  if (!DomainFits(*entry, who)) return Refusal::kWrongDomain;
  if (!QpFits(*entry, who)) return Refusal::kWrongQp;
  if (!VariantFits(*entry, key, traits.origin)) return Refusal::kStaleVariant;
  if (!IsInside(*entry, address, length)) return Refusal::kOutOfRange;
  if (!HasRight(*entry, traits.right)) return Refusal::kNoRight;
  if (traits.has_purpose && !PurposeFits(*entry, access)) {
    return access == AccessKind::kBind ? Refusal::kNotBindable : Refusal::kWrongCommand;
  }
  if (access == AccessKind::kRemoteAtomic) {
    if (common_only || !IsAtomicWord(address.value(), length)) return Refusal::kMisaligned;
  }
  return std::nullopt;
}

[[gnu::always_inline]] inline Translator::SingleSpan Translator::FindSingleSpan(
    Key key, KeyAddress address, uint64_t length, AccessKind access, const Accessor& who) const {
  if (length == 0) return {};
  Grant grant;
  if (Check<true>(key, address, length, access, who, grant).has_value()) return {};
  const TranslationTable* const table = grant.target->table;
  if (table == nullptr) return {};
  PhysicalAddress at;
  const bool is_there = table->FindSingleSpan(grant.target->first_offset + grant.offset, length,
                                              TraitsOf(access).writes, at);
  if (grant.target->guest != kHost) {
    if (!is_there) return {};
    return FindThroughGuest(grant.target->guest, at, length, TraitsOf(access).writes, grant.use);
  }
  return {.at = MachineAddress(at.value()), .is_there = is_there, .use = grant.use};
}

}  // namespace verbena::memory
