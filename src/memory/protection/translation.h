#pragma once

#include <cstdint>
#include <variant>

#include "base/page.h"
#include "memory/copy/span_list.h"
#include "memory/protection/one_touch.h"
#include "memory/refusal.h"
#include "memory/spaces/guest_key.h"
#include "verbena/numbers.h"

namespace verbena::memory {

// Which stage of translation has no page there: the first is the owner's to resolve (the guest's
// driver, the process), the second the host's (row E7).
enum class Stage : uint8_t { kFirst, kSecond };

// Pages that must become present before an access can go on. First stage, region with a table: page
// numbers of the region. First stage, region of the owner's address space: virtual page numbers.
// Second stage: guest-physical page numbers. The run reaches from the first missing page to the
// last one that the access needs in this stage, so that one request brings them all.
//
// `is_loss`: the table called the first of them present, and a copy found that it is not. Who waits
// for such pages counts them, because a page could be lost again each time that it came.
struct Fault {
  Stage stage = Stage::kFirst;
  bool for_write = false;
  bool is_loss = false;
  Key region;      // L_Key of the region or task whose pages they are
  GuestKey guest;  // the second-stage key that the first-stage key yielded (row E8)
  PageShift page_shift{PageShift::kMin};
  uint64_t first_page = 0;
  uint64_t page_count = 0;

  friend bool operator==(const Fault&, const Fault&) = default;
};

// The bytes of an access. `spans` covers the access from its first byte; it is shorter than asked
// when more than SpanList::kCapacity pieces would be needed, and then the rest is translated next.
struct Ready {
  Ready() {}  // NOLINT(modernize-use-equals-default): `= default` would zero the room for spans.

  SpanList spans;
  KeyUse use = KeyUse::kMany;
};

// What the one door answers: the bytes are there, they must be fetched first, or they are not
// yours.
using Translation = std::variant<Ready, Fault, Refusal>;

inline const Ready* AsReady(const Translation& t) { return std::get_if<Ready>(&t); }
inline const Fault* AsFault(const Translation& t) { return std::get_if<Fault>(&t); }
inline const Refusal* AsRefusal(const Translation& t) { return std::get_if<Refusal>(&t); }

}  // namespace verbena::memory
