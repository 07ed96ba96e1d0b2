#include "transport/common/placement.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "memory/copy/copier.h"

namespace verbena::transport {
namespace {

using memory::AccessKind;
using memory::Translation;

using memory::KeyUse;

Key KeyOf(const Sge& piece) { return piece.key; }

// The first byte that could not be accessed, if there is one.
std::optional<memory::MachineAddress> CopyTo(const memory::SpanList& to,
                                             std::span<const std::byte> payload) {
  return memory::CopyIn(to, payload).fault;
}

// The same for one span: whether all of it is copied.
bool IsCopied(memory::MachineAddress to, std::span<const std::byte> payload) {
  return !memory::GuardedCopy(memory::PointerTo(to), payload.data(), payload.size()).fault;
}

// The fault for all `length` bytes, after the first of them were found to be absent.
memory::Fault FaultOfAll(Key key, KeyAddress start, uint64_t length, AccessKind access,
                         const memory::Accessor& who, const memory::MemoryCore& memory,
                         const memory::Fault& beginning) {
  const Translation all = memory.translator.Translate(key, start, length, access, who);
  const memory::Fault* const fault = AsFault(all);
  return fault != nullptr ? *fault : beginning;
}

// Marks the page of the byte absent in the tables, and calls `again`, which then finds it absent.
// Each call has one page less, so this ends.
template <class Again>
[[gnu::noinline]] auto Lost(memory::MachineAddress gone, memory::MemoryCore& memory, Again again) {
  using Answer = decltype(again());
  if (memory.MarkMachineAbsent(gone, gone) == 0)
    return Answer(NakReason(ResponderError::kPagesUnavailable));
  Answer answer = again();
  if (auto* const fault = std::get_if<memory::Fault>(&answer)) fault->is_loss = true;
  return answer;
}

Placement ScatterPieces(queue::SgeCursor& cursor, std::span<const std::byte> payload,
                        uint64_t ahead, const memory::Accessor& who, memory::MemoryCore& memory) {
  queue::SgeCursor walk = cursor;
  for (auto left = payload; !left.empty();) {
    queue::SgeCursor here = walk;
    const auto piece = walk.Next(left.size());
    CHECK(piece.has_value());
    const KeyAddress start(piece->address);
    const Translation translation = memory.translator.Translate(KeyOf(*piece), start, piece->length,
                                                                AccessKind::kLocalWrite, who);
    if (const memory::Refusal* const refusal = AsRefusal(translation)) {
      return NakReason(*refusal, RefusedKey::kOwn);
    }
    if (const memory::Fault* const fault = AsFault(translation)) {
      const auto rest = here.Next(std::max<uint64_t>(ahead, left.size()));
      return FaultOfAll(KeyOf(*piece), start, rest->length, AccessKind::kLocalWrite, who, memory,
                        *fault);
    }
    const memory::SpanList& spans = AsReady(translation)->spans;
    const auto part = left.first(spans.length());
    if (const auto gone = CopyTo(spans, part)) {
      return Lost(*gone, memory,
                  [&] { return ScatterPieces(cursor, payload, ahead, who, memory); });
    }
    // The list of spans may end before the piece does.
    walk = here;
    static_cast<void>(walk.Next(part.size()));
    left = left.subspan(part.size());
  }
  cursor = walk;
  return Placed{};
}

// The same for a payload of any length: the translation covers as much of it as there are spans
// for, and the rest is translated next.
[[gnu::noinline]] Placement PlaceInFull(const RemoteRange& rest, std::span<const std::byte> payload,
                                        SpentKey spent, const memory::Accessor& who,
                                        memory::MemoryCore& memory) {
  KeyUse use = KeyUse::kMany;
  for (auto left = payload; !left.empty();) {
    const uint64_t done = payload.size() - left.size();
    const KeyAddress start(rest.start.value() + done);
    const Translation translation =
        memory.translator.Translate(rest.key, start, left.size(), AccessKind::kRemoteWrite, who);
    if (const memory::Refusal* const refusal = AsRefusal(translation)) return NakReason(*refusal);
    if (const memory::Fault* const fault = AsFault(translation)) {
      return FaultOfAll(rest.key, start, rest.length - done, AccessKind::kRemoteWrite, who, memory,
                        *fault);
    }
    const memory::Ready& ready = *AsReady(translation);
    use = ready.use;
    if (use == KeyUse::kSpent && spent == SpentKey::kRefused) {
      return NakReason(memory::Refusal::kNotValid);
    }
    const auto part = left.first(ready.spans.length());
    if (const auto gone = CopyTo(ready.spans, part)) {
      return Lost(*gone, memory, [&] { return PlaceInFull(rest, payload, spent, who, memory); });
    }
    left = left.subspan(part.size());
  }
  return Placed{use};
}

}  // namespace

Placement PlaceWrite(const RemoteRange& rest, std::span<const std::byte> payload,
                     const memory::Accessor& who, memory::MemoryCore& memory, SpentKey spent) {
  CHECK(payload.size() <= rest.length);
  if (payload.empty()) return Placed{};
  const auto found = memory.translator.FindSingleSpan(rest.key, rest.start, payload.size(),
                                                      AccessKind::kRemoteWrite, who);
  if (found.is_there && found.use != KeyUse::kSpent && IsCopied(found.at, payload)) [[likely]] {
    return Placed{found.use};
  }
  // If the copy failed, PlaceInFull finds the page absent, or present again.
  return PlaceInFull(rest, payload, spent, who, memory);
}

Placement ScatterSend(queue::SgeCursor& cursor, std::span<const std::byte> payload, uint64_t ahead,
                      const memory::Accessor& who, memory::MemoryCore& memory) {
  queue::SgeCursor walk = cursor;
  if (const auto piece = walk.Next(payload.size()); piece && piece->length == payload.size()) {
    const auto found = memory.translator.FindSingleSpan(
        KeyOf(*piece), KeyAddress(piece->address), piece->length, AccessKind::kLocalWrite, who);
    if (found.is_there && IsCopied(found.at, payload)) [[likely]] {
      cursor = walk;
      return Placed{};
    }
  }
  return ScatterPieces(cursor, payload, ahead, who, memory);
}

Placement Gather(queue::SgeCursor cursor, uint32_t size, uint64_t ahead,
                 const memory::Accessor& who, memory::MemoryCore& memory, OutPacket& packet,
                 std::span<std::byte> room) {
  const queue::SgeCursor begin = cursor;
  bool in_room = false;
  for (uint32_t done = 0; done < size;) {
    queue::SgeCursor here = cursor;
    const auto piece = cursor.Next(size - done);
    CHECK(piece.has_value());
    const KeyAddress start(piece->address);
    const Translation translation = memory.translator.Translate(KeyOf(*piece), start, piece->length,
                                                                AccessKind::kLocalRead, who);
    if (const memory::Refusal* const refusal = AsRefusal(translation)) {
      return NakReason(*refusal, RefusedKey::kOwn);
    }
    if (const memory::Fault* const fault = AsFault(translation)) {
      const auto rest = here.Next(std::max<uint64_t>(ahead, size - done));
      return FaultOfAll(KeyOf(*piece), start, rest->length, AccessKind::kLocalRead, who, memory,
                        *fault);
    }
    const memory::SpanList& spans = AsReady(translation)->spans;
    const bool fits =
        !in_room && packet.payload.size() + spans.size() <= memory::SpanList::kCapacity;
    if (fits) {
      for (const memory::Span span : spans) CHECK(packet.payload.Append(span));
    } else {
      auto gone = in_room ? std::nullopt : memory::CopyOut(room.first(done), packet.payload).fault;
      in_room = true;
      if (!gone) gone = memory::CopyOut(room.subspan(done, piece->length), spans).fault;
      if (gone) {
        packet.payload.Clear();
        return Lost(*gone, memory,
                    [&] { return Gather(begin, size, ahead, who, memory, packet, room); });
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

Placement GatherInto(queue::SgeCursor cursor, std::span<std::byte> to, uint64_t ahead,
                     const memory::Accessor& who, memory::MemoryCore& memory) {
  const queue::SgeCursor begin = cursor;
  for (auto left = to; !left.empty();) {
    queue::SgeCursor here = cursor;
    const auto piece = cursor.Next(left.size());
    CHECK(piece.has_value());
    const KeyAddress start(piece->address);
    const Translation translation = memory.translator.Translate(KeyOf(*piece), start, piece->length,
                                                                AccessKind::kLocalRead, who);
    if (const memory::Refusal* const refusal = AsRefusal(translation)) {
      return NakReason(*refusal, RefusedKey::kOwn);
    }
    if (const memory::Fault* const fault = AsFault(translation)) {
      const auto rest = here.Next(std::max<uint64_t>(ahead, left.size()));
      return FaultOfAll(KeyOf(*piece), start, rest->length, AccessKind::kLocalRead, who, memory,
                        *fault);
    }
    const memory::SpanList& spans = AsReady(translation)->spans;
    const auto part = left.first(spans.length());
    if (const auto gone = memory::CopyOut(part, spans).fault) {
      return Lost(*gone, memory, [&] { return GatherInto(begin, to, ahead, who, memory); });
    }
    cursor = here;
    static_cast<void>(cursor.Next(part.size()));
    left = left.subspan(part.size());
  }
  return Placed{};
}

Placement ReadInto(const RemoteRange& rest, std::span<std::byte> to, const memory::Accessor& who,
                   memory::MemoryCore& memory, SpentKey spent) {
  CHECK(to.size() <= rest.length);
  KeyUse use = KeyUse::kMany;
  for (auto left = to; !left.empty();) {
    const uint64_t done = to.size() - left.size();
    const KeyAddress start(rest.start.value() + done);
    const Translation translation =
        memory.translator.Translate(rest.key, start, left.size(), AccessKind::kRemoteRead, who);
    if (const memory::Refusal* const refusal = AsRefusal(translation)) return NakReason(*refusal);
    if (const memory::Fault* const fault = AsFault(translation)) {
      return FaultOfAll(rest.key, start, rest.length - done, AccessKind::kRemoteRead, who, memory,
                        *fault);
    }
    const memory::Ready& ready = *AsReady(translation);
    use = ready.use;
    if (use == KeyUse::kSpent && spent == SpentKey::kRefused) {
      return NakReason(memory::Refusal::kNotValid);
    }
    const auto part = left.first(ready.spans.length());
    if (const auto gone = memory::CopyOut(part, ready.spans).fault) {
      return Lost(*gone, memory, [&] { return ReadInto(rest, to, who, memory, spent); });
    }
    left = left.subspan(part.size());
  }
  return Placed{use};
}

Placement PlaceAtomicWrite(const RemoteRange& word, std::span<const std::byte> payload,
                           const memory::Accessor& who, memory::MemoryCore& memory) {
  CHECK(payload.size() == sizeof(uint64_t) && word.length == sizeof(uint64_t));
  const Translation translation =
      memory.translator.Translate(word.key, word.start, word.length, AccessKind::kRemoteWrite, who);
  if (const memory::Refusal* const refusal = AsRefusal(translation)) return NakReason(*refusal);
  if (const memory::Fault* const fault = AsFault(translation)) return *fault;
  const memory::Ready& ready = *AsReady(translation);
  if (ready.use == KeyUse::kSpent) return NakReason(memory::Refusal::kNotValid);
  // An address that is aligned for the peer need not be aligned in memory.
  const memory::Span span = ready.spans[0];
  if (span.length != sizeof(uint64_t) || span.address.value() % sizeof(uint64_t) != 0) {
    return NakReason(ResponderError::kMisaligned);
  }
  uint64_t value = 0;
  std::memcpy(&value, payload.data(), sizeof value);
  if (!memory::GuardedStore64(memory::PointerTo(span.address), value)) {
    return Lost(span.address, memory, [&] { return PlaceAtomicWrite(word, payload, who, memory); });
  }
  return Placed{ready.use};
}

AtomicResult ExecuteAtomic(const RemoteRange& word, const AtomicOperation& operation,
                           const memory::Accessor& who, memory::MemoryCore& memory) {
  const Translation translation = memory.translator.Translate(word.key, word.start, word.length,
                                                              AccessKind::kRemoteAtomic, who);
  if (const memory::Refusal* const refusal = AsRefusal(translation)) return NakReason(*refusal);
  if (const memory::Fault* const fault = AsFault(translation)) return *fault;
  const memory::Ready& ready = *AsReady(translation);
  if (ready.use == KeyUse::kSpent) return NakReason(memory::Refusal::kNotValid);
  const auto before =
      operation.is_compare_swap
          ? memory::CompareAndSwap(ready.spans, operation.compare, operation.swap_or_add)
          : memory::FetchAdd(ready.spans, operation.swap_or_add);
  // The error cannot be the alignment, which the translation checked.
  if (!before) {
    return Lost(before.error().address, memory,
                [&] { return ExecuteAtomic(word, operation, who, memory); });
  }
  return AtomicDone{.original = *before, .use = ready.use};
}

}  // namespace verbena::transport
