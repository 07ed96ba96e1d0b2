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

// The stage of translation with the missing page: the owner (the guest's driver, the process)
// resolves faults of the first stage, the host those of the second (row E7).
enum class Stage : uint8_t { kFirst, kSecond };

// Pages that must become present before an access can continue. First stage, region with a table:
// page numbers of the region. First stage, region of the owner's address space: virtual page
// numbers. Second stage: guest-physical page numbers. The run reaches from the first missing page
// to the last missing one that the access needs in this stage, so that one request pages in all.
//
// `is_loss`: the first page is present in the table, but a copy found it missing. Queue pairs count
// such faults, because a page could be lost again after each page-in.
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

// The bytes of a translated access. `spans` covers the access from its first byte; it is shorter
// than the access if that needs more than SpanList::kCapacity spans, and then the caller translates
// the rest.
struct Ready {
  Ready() {}  // NOLINT(modernize-use-equals-default): `= default` would clear the spans.

  SpanList spans;
  KeyUse use = KeyUse::kMany;
};

// The result of a translation: ready, fault or refused.
using Translation = std::variant<Ready, Fault, Refusal>;

inline const Ready* AsReady(const Translation& t) { return std::get_if<Ready>(&t); }
inline const Fault* AsFault(const Translation& t) { return std::get_if<Fault>(&t); }
inline const Refusal* AsRefusal(const Translation& t) { return std::get_if<Refusal>(&t); }

}  // namespace verbena::memory
