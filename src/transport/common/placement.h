#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "memory/access.h"
#include "memory/memory_core.h"
#include "memory/protection/translation.h"
#include "queue/sge_cursor.h"
#include "transport/common/outbox.h"
#include "transport/common/responder_checks.h"
#include "transport/common/verdict.h"
#include "wire/roce/types.h"

// The payload of one packet brought to where it belongs, or found. Each packet is translated anew,
// since a key may die between two packets of a message. No payload is longer than 4096 bytes, so
// that a piece of it in one element of a list crosses one page border at most.

namespace verbena::transport {

struct Placed {
  memory::KeyUse use = memory::KeyUse::kMany;  // of the key that it went through
};

// How often a work request may lose pages that the tables called present before it fails: more
// often than a program unmaps its memory under one by chance.
inline constexpr uint8_t kLossesMax = 64;

// Done; or nothing counts as done, because pages must come first or because it is refused. Some
// bytes may be in place all the same: the packet that comes again writes them again. A page that is
// gone although the tables call it present is absent in them from then on, and a fault like others.
using Placement = std::variant<Placed, memory::Fault, NakReason>;

// A part of a write to the start of `rest`, which is what is left of the message: if pages are
// missing, those of the rest are asked for with them.
[[nodiscard]] Placement PlaceWrite(const RemoteRange& rest, std::span<const std::byte> payload,
                                   const memory::Accessor& who, memory::MemoryCore& memory);

// How far behind the packet at hand a send's pages are asked for, when its end is not known.
inline constexpr uint64_t kSendAheadMax = uint64_t{1} << 20;

// A part of a send to where the cursor stands, which moves on if it is placed. REQUIRES: the list
// has room for it. How long the message will be is not known before its last packet, so pages are
// asked for `ahead` bytes, as far as the element of the list goes.
[[nodiscard]] Placement ScatterSend(queue::SgeCursor& cursor, std::span<const std::byte> payload,
                                    uint64_t ahead, const memory::Accessor& who,
                                    memory::MemoryCore& memory);

// The other way, in the common case: names `size` bytes from `offset` on of one element as the
// payload of a packet. False, and nothing is done, if they do not lie in one present page.
[[nodiscard]] inline bool NameSpan(const Sge& sge, uint64_t offset, uint32_t size,
                                   const memory::Accessor& who, const memory::MemoryCore& memory,
                                   OutPacket& packet) {
  const auto found = memory.translator.FindSingleSpan(sge.key, KeyAddress(sge.address + offset),
                                                      size, memory::AccessKind::kLocalRead, who);
  if (found.is_there) packet.payload.Begin({found.at, size});
  return found.is_there;
}

// In general: names the `size` bytes where the cursor stands as the payload of a packet, or
// brings them together in `room` where they lie in more pieces than a packet can name. REQUIRES:
// the list has as many.
[[nodiscard]] Placement Gather(queue::SgeCursor cursor, uint32_t size, uint64_t ahead,
                               const memory::Accessor& who, memory::MemoryCore& memory,
                               OutPacket& packet, std::span<std::byte> room);

// Row A5: the message that ends with the packet `psn` has used the key, and a one-touch key dies
// with its first. Of a message without bytes no key is looked at, and its use is kMany.
inline void EndUse(Key key, memory::KeyUse use, Psn psn, const memory::Accessor& who,
                   memory::MemoryCore& memory) {
  if (use == memory::KeyUse::kMany) return;
  // Packets are executed in order, so that the stream has always caught up.
  const memory::StreamNumber last(psn.value());
  const auto action = memory.one_touch.Touch(key, {.ends_message = true, .last_byte = last},
                                             {.next_expected = last + 1}, who);
  CHECK(action == memory::TouchAction::kPlaceAndInvalidate);
}

// 8 bytes at once. REQUIRES: the address is a multiple of 8.
[[nodiscard]] Placement PlaceAtomicWrite(const RemoteRange& word,
                                         std::span<const std::byte> payload,
                                         const memory::Accessor& who, memory::MemoryCore& memory);

// An atomic operation as the wire describes it.
struct AtomicOperation {
  bool is_compare_swap = false;
  uint64_t compare = 0;
  uint64_t swap_or_add = 0;
};

// The value that was there before; or, as above, why nothing was done.
struct AtomicDone {
  uint64_t original = 0;
  memory::KeyUse use = memory::KeyUse::kMany;
};
using AtomicResult = std::variant<AtomicDone, memory::Fault, NakReason>;
[[nodiscard]] AtomicResult ExecuteAtomic(const RemoteRange& word, const AtomicOperation& operation,
                                         const memory::Accessor& who, memory::MemoryCore& memory);

}  // namespace verbena::transport
