#pragma once

#include <cstdint>

#include "memory/access.h"
#include "memory/address.h"
#include "memory/protection/protection_entry.h"
#include "memory/refusal.h"
#include "verbena/numbers.h"

// The lettered checks of an access, as predicates of one entry. Inline, because they are a large
// part of the data path.

namespace verbena::memory::internal {

inline constexpr uint64_t kAtomicBytes = 8;

// a: the entry is valid.
inline bool IsValid(const ProtectionEntry* entry) {
  return entry != nullptr && entry->state == EntryState::kValid;
}

// Swapped out, and swapped in on access: an access that passes the other checks is a fault.
inline bool FaultsWhenOut(const ProtectionEntry* entry) {
  return entry != nullptr && entry->state == EntryState::kSwappedOut && entry->faults_when_out;
}

inline Refusal WhyNotValid(const ProtectionEntry* entry) {
  if (entry == nullptr || !entry->is_live()) return Refusal::kNoSuchKey;
  return entry->state == EntryState::kSwappedOut ? Refusal::kSwappedOut : Refusal::kNotValid;
}

// b: windows serve remote access only, tasks only the messages of their protocol.
inline bool TypeFits(const ProtectionEntry& entry, Origin origin, bool remote_through_regions) {
  if (entry.type == EntryType::kRegion) {
    return origin == Origin::kLocal || (origin == Origin::kRemote && remote_through_regions);
  }
  return entry.type == EntryType::kWindow ? origin == Origin::kRemote : origin == Origin::kTask;
}

inline bool IsType2Window(const ProtectionEntry& entry) {
  return entry.type == EntryType::kWindow && entry.window_type != WindowType::k1;
}

// c: the entry belongs to the requester.
inline bool DomainFits(const ProtectionEntry& entry, const Accessor& who) {
  if (entry.pd == who.pd) return true;
  return entry.type == EntryType::kWindow && entry.window_type == WindowType::k2A;
}

inline bool QpFits(const ProtectionEntry& entry, const Accessor& who) {
  return !IsType2Window(entry) || entry.window.qp == who.qp;
}

// d: the key was made for this generation of the entry.
inline bool VariantFits(const ProtectionEntry& entry, Key key, Origin origin) {
  return entry.VariantFor(origin) == key.variant();
}

// e: the bytes lie inside. An entry does not wrap around, so an access inside of it does not
// either.
inline bool IsInside(const ProtectionEntry& entry, KeyAddress address, uint64_t length) {
  return address.value() >= entry.start && length <= entry.length &&
         address.value() - entry.start <= entry.length - length;
}

// f: this kind of access is granted.
inline bool HasRight(const ProtectionEntry& entry, Access needed) {
  return entry.rights.Has(needed);
}

// g: windows may be bound to this region; the message fits the command of this task.
inline bool PurposeFits(const ProtectionEntry& entry, AccessKind access) {
  if (access == AccessKind::kBind) return entry.rights.Has(Access::kWindowBind);
  return entry.task.command_reads == (access == AccessKind::kTaskReceive);
}

// IBA 9.4.5: atomics are on 8 bytes, naturally aligned.
inline bool IsAtomicWord(uint64_t address, uint64_t length) {
  return length == kAtomicBytes && address % kAtomicBytes == 0;
}

}  // namespace verbena::memory::internal
