#include "transport/rc/placement.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "memory/copier.h"

namespace verbena::transport {
namespace {

using memory::Access;
using memory::KeyAddress;
using memory::Translation;

Placement CopyTo(const memory::SpanList& to, std::span<const std::byte> payload) {
  if (memory::CopyIn(to, payload).fault) return Cause(Reason::kMemoryGone);
  return Placed{};
}

// What is missing of all of `length` bytes, now that their beginning is known to be.
memory::Fault FaultOfAll(memory::Key key, KeyAddress start, uint64_t length, Access access,
                         const memory::Accessor& who, const memory::MemoryCore& memory,
                         const memory::Fault& beginning) {
  const Translation all = memory.translator.Translate(key, start, length, access, who);
  const memory::Fault* const fault = AsFault(all);
  return fault != nullptr ? *fault : beginning;
}

}  // namespace

Placement PlaceWrite(const RemoteRange& rest, std::span<const std::byte> payload,
                     const memory::Accessor& who, const memory::MemoryCore& memory) {
  CHECK(payload.size() <= rest.length);
  if (payload.empty()) return Placed{};
  const Translation translation =
      memory.translator.Translate(rest.key, rest.start, payload.size(), Access::kRemoteWrite, who);
  if (const memory::Ready* const ready = AsReady(translation)) {
    return CopyTo(ready->spans, payload);
  }
  if (const memory::Denial* const denial = AsDenial(translation)) return Cause(*denial);
  return FaultOfAll(rest.key, rest.start, rest.length, Access::kRemoteWrite, who, memory,
                    *AsFault(translation));
}

Placement ScatterSend(queue::SgeCursor& cursor, std::span<const std::byte> payload, uint64_t ahead,
                      const memory::Accessor& who, const memory::MemoryCore& memory) {
  queue::SgeCursor walk = cursor;
  while (!payload.empty()) {
    queue::SgeCursor here = walk;
    const auto piece = walk.Next(payload.size());
    CHECK(piece.has_value());
    const memory::Key key(piece->key.value());
    const KeyAddress start(piece->address);
    const Translation translation =
        memory.translator.Translate(key, start, piece->length, Access::kLocalWrite, who);
    if (AsDenial(translation) != nullptr) return Cause(Reason::kReceiveBufferDenied);
    if (const memory::Fault* const fault = AsFault(translation)) {
      const auto rest = here.Next(std::max<uint64_t>(ahead, payload.size()));
      return FaultOfAll(key, start, rest->length, Access::kLocalWrite, who, memory, *fault);
    }
    const Placement placed = CopyTo(AsReady(translation)->spans, payload.first(piece->length));
    if (!std::holds_alternative<Placed>(placed)) return placed;
    payload = payload.subspan(piece->length);
  }
  cursor = walk;
  return Placed{};
}

Placement Gather(queue::SgeCursor cursor, uint32_t size, uint64_t ahead,
                 const memory::Accessor& who, const memory::MemoryCore& memory, OutPacket& packet,
                 std::span<std::byte> room) {
  bool in_room = false;
  for (uint32_t done = 0; done < size;) {
    queue::SgeCursor here = cursor;
    const auto piece = cursor.Next(size - done);
    CHECK(piece.has_value());
    const memory::Key key(piece->key.value());
    const KeyAddress start(piece->address);
    const Translation translation =
        memory.translator.Translate(key, start, piece->length, Access::kLocalRead, who);
    if (const memory::Denial* const denial = AsDenial(translation)) return Cause(*denial);
    if (const memory::Fault* const fault = AsFault(translation)) {
      const auto rest = here.Next(std::max<uint64_t>(ahead, size - done));
      return FaultOfAll(key, start, rest->length, Access::kLocalRead, who, memory, *fault);
    }
    const memory::SpanList& spans = AsReady(translation)->spans;
    const bool fits =
        !in_room && packet.payload.size() + spans.size() <= memory::SpanList::kCapacity;
    if (fits) {
      for (const memory::Span span : spans) CHECK(packet.payload.Append(span));
    } else {
      if (!in_room && memory::CopyOut(room.first(done), packet.payload).fault) {
        return Cause(Reason::kMemoryGone);
      }
      in_room = true;
      if (memory::CopyOut(room.subspan(done, piece->length), spans).fault) {
        return Cause(Reason::kMemoryGone);
      }
    }
    done += piece->length;
  }
  if (in_room) {
    packet.payload.Clear();
    packet.inlined = room.first(size);
  }
  return Placed{};
}

// Row A5. Packets are executed in order, so that the stream has always caught up.
std::optional<Cause> TouchKey(memory::Key key, uint32_t length, wire::Psn psn,
                              const memory::Accessor& who, memory::MemoryCore& memory) {
  if (length == 0) return std::nullopt;
  const memory::StreamNumber last(psn.value());
  const auto action = memory.one_touch.Touch(key, {.ends_message = true, .last_byte = last},
                                             {.next_expected = last + 1}, who);
  if (!action) return action.error();
  if (*action == memory::TouchAction::kInvalidateAndTerminate) return memory::Denial::kNotValid;
  return std::nullopt;
}

Placement PlaceAtomicWrite(const RemoteRange& word, std::span<const std::byte> payload,
                           const memory::Accessor& who, const memory::MemoryCore& memory) {
  CHECK(payload.size() == sizeof(uint64_t) && word.length == sizeof(uint64_t));
  const Translation translation =
      memory.translator.Translate(word.key, word.start, word.length, Access::kRemoteWrite, who);
  if (const memory::Denial* const denial = AsDenial(translation)) return Cause(*denial);
  if (const memory::Fault* const fault = AsFault(translation)) return *fault;
  // What is aligned for the peer need not be so in memory.
  const memory::Span span = AsReady(translation)->spans[0];
  if (span.length != sizeof(uint64_t) || span.address.value() % sizeof(uint64_t) != 0) {
    return Cause(Reason::kMisaligned);
  }
  uint64_t value = 0;
  std::memcpy(&value, payload.data(), sizeof value);
  if (!memory::GuardedStore64(memory::PointerTo(span.address), value)) {
    return Cause(Reason::kMemoryGone);
  }
  return Placed{};
}

AtomicResult ExecuteAtomic(const RemoteRange& word, const AtomicOperation& operation,
                           const memory::Accessor& who, const memory::MemoryCore& memory) {
  const Translation translation =
      memory.translator.Translate(word.key, word.start, word.length, Access::kRemoteAtomic, who);
  if (const memory::Denial* const denial = AsDenial(translation)) return Cause(*denial);
  if (const memory::Fault* const fault = AsFault(translation)) return *fault;
  const memory::SpanList& spans = AsReady(translation)->spans;
  const auto before = operation.is_compare_swap
                          ? memory::CompareAndSwap(spans, operation.compare, operation.swap_or_add)
                          : memory::FetchAdd(spans, operation.swap_or_add);
  if (!before) return Cause(Reason::kMemoryGone);
  return *before;
}

}  // namespace verbena::transport
