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

// Places the payload of one packet or segment into memory, or locates it there. Each packet is
// translated separately, because a key may become invalid between two packets of a message. The
// payload of a packet has at most 4096 bytes, so the part of it in one element of a list crosses at
// most one page boundary. A segment of a byte stream has up to 64 KiB.

namespace verbena::transport {

struct Placed {
  memory::KeyUse use = memory::KeyUse::kMany;  // of the key that was used
};

// How many times a work request may lose pages that the tables say are present, before it fails.
// The limit is higher than the number of times that a program would unmap memory in use by chance.
inline constexpr uint8_t kLossesMax = 64;

// Placed; or not placed, because pages are absent (Fault) or because the request is refused. In
// these cases some bytes may already be written; the packet that is retransmitted writes them
// again. A page that is gone although the tables say that it is present is marked absent, and is a
// Fault like any other.
using Placement = std::variant<Placed, memory::Fault, NakReason>;

// Whether an access may use a one-touch key that was touched already: only if it is a part of the
// message that touched the key.
enum class SpentKey : uint8_t { kRefused, kAllowed };

// Places a part of a write at the start of `rest`, the remainder of the message. If pages are
// absent, the pages of all of `rest` are requested.
[[nodiscard]] Placement PlaceWrite(const RemoteRange& rest, std::span<const std::byte> payload,
                                   const memory::Accessor& who, memory::MemoryCore& memory,
                                   SpentKey spent = SpentKey::kRefused);

// How many bytes after the present packet are prefetched for a send whose length is not known.
inline constexpr uint64_t kSendAheadMax = uint64_t{1} << 20;

// Places a part of a send at the cursor, which advances on success. REQUIRES: the list has room for
// it. The length of the message is not known before its last packet, so pages are requested for
// `ahead` bytes, at most up to the end of the element.
[[nodiscard]] Placement ScatterSend(queue::SgeCursor& cursor, std::span<const std::byte> payload,
                                    uint64_t ahead, const memory::Accessor& who,
                                    memory::MemoryCore& memory);

// The transmit side, fast path: makes `size` bytes from `offset` on of one element the payload of a
// packet. Returns false and does nothing if they are not in one present page.
[[nodiscard]] inline bool NameSpan(const Sge& sge, uint64_t offset, uint32_t size,
                                   const memory::Accessor& who, const memory::MemoryCore& memory,
                                   OutPacket& packet) {
  const auto found = memory.translator.FindSingleSpan(sge.key, KeyAddress(sge.address + offset),
                                                      size, memory::AccessKind::kLocalRead, who);
  if (found.is_there) packet.payload.Begin({found.at, size});
  return found.is_there;
}

// The transmit side, in general: makes the `size` bytes at the cursor the payload of a packet.
// Copies them to `room` if they have more spans than a packet can name. REQUIRES: the list has as
// many bytes.
[[nodiscard]] Placement Gather(queue::SgeCursor cursor, uint32_t size, uint64_t ahead,
                               const memory::Accessor& who, memory::MemoryCore& memory,
                               OutPacket& packet, std::span<std::byte> room);

// The transmit side of a byte stream: copies the bytes at the cursor to `to`. REQUIRES: the list
// has as many bytes.
[[nodiscard]] Placement GatherInto(queue::SgeCursor cursor, std::span<std::byte> to, uint64_t ahead,
                                   const memory::Accessor& who, memory::MemoryCore& memory);

// The same for the response to a read: copies the bytes at the start of `rest`, the part of the
// range that is not read yet.
[[nodiscard]] Placement ReadInto(const RemoteRange& rest, std::span<std::byte> to,
                                 const memory::Accessor& who, memory::MemoryCore& memory,
                                 SpentKey spent = SpentKey::kRefused);

// Row A5: the message that ends with the packet `psn` has used the key; a one-touch key is
// invalidated by the first message that uses it. A message without bytes uses no key: its use is
// kMany.
inline void EndUse(Key key, memory::KeyUse use, Psn psn, const memory::Accessor& who,
                   memory::MemoryCore& memory) {
  if (use == memory::KeyUse::kMany) return;
  // Packets are executed in order, so all bytes before the last one have been placed.
  const memory::StreamNumber last(psn.value());
  const auto action = memory.one_touch.Touch(key, {.ends_message = true, .last_byte = last},
                                             {.next_expected = last + 1}, who);
  CHECK(action == memory::TouchAction::kPlaceAndInvalidate);
}

// 8 bytes, atomically. REQUIRES: the address is a multiple of 8.
[[nodiscard]] Placement PlaceAtomicWrite(const RemoteRange& word,
                                         std::span<const std::byte> payload,
                                         const memory::Accessor& who, memory::MemoryCore& memory);

// An atomic operation as the wire describes it.
struct AtomicOperation {
  bool is_compare_swap = false;
  uint64_t compare = 0;
  uint64_t swap_or_add = 0;
};

// The value before the operation; or, as above, why the operation was not executed.
struct AtomicDone {
  uint64_t original = 0;
  memory::KeyUse use = memory::KeyUse::kMany;
};
using AtomicResult = std::variant<AtomicDone, memory::Fault, NakReason>;
[[nodiscard]] AtomicResult ExecuteAtomic(const RemoteRange& word, const AtomicOperation& operation,
                                         const memory::Accessor& who, memory::MemoryCore& memory);

}  // namespace verbena::transport
