#include <algorithm>
#include <iterator>

#include "memory/copy/copier.h"
#include "model/world.h"

namespace verbena::memory::model {

// An offset in the entry, mostly at a boundary.
uint64_t World::OffsetIn(const Entry& entry) {
  const uint64_t length = entry.length;
  switch (choices_.Below(12)) {
    case 0:
      return 0;
    case 1:
      return length - 1;
    case 2:
      return length;
    case 3:
      return choices_.Chance(1, 4) ? UINT64_MAX : choices_.Below(9);
    case 4:
    case 5:
    case 6: {
      if (entry.pages == nullptr || entry.pages->pages.empty()) break;
      const Pages& pages = entry.pages->pages;
      const auto it = std::next(
          pages.begin(),
          static_cast<std::ptrdiff_t>(choices_.Below(std::min<size_t>(pages.size(), 64))));
      return it->first * entry.pages->page_bytes - entry.first_offset + choices_.Below(5) - 2;
    }
    default:
      break;
  }
  if (entry.of_address_space && choices_.Chance(7, 8)) {
    const ConsumerRecord& owner = reference_.spaces.OwnerOf(entry.pd);
    if (owner.has_segments && !owner.segments.empty() && choices_.Chance(3, 4)) {
      const auto& segment = owner.segments[choices_.Below(owner.segments.size())];
      return segment.first - entry.start + choices_.Below(6000);
    }
    return choices_.Below(kVirtualPages * kSmallPage);
  }
  return length == 0 ? 0 : choices_.Below(length);
}

uint64_t World::LengthFrom(const Entry& entry, uint64_t offset) {
  switch (choices_.Below(32)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
    case 3:
      return std::min<uint64_t>(entry.length - offset, 1 << 17);
    case 4:
      return entry.length - offset + 1;
    case 5:
      return choices_.OneOf<uint64_t>({UINT64_MAX, UINT64_MAX - offset, 1ull << 63, 1ull << 32});
    case 6:
    case 7:
    case 8:
      return choices_.Between(1, 2 * kSmallPage);
    case 9:
      return choices_.Between(1, 12 * kSmallPage);
    case 10:
      return std::min<uint64_t>(entry.length, 1 << 17);
    default:
      return std::min<uint64_t>(choices_.Between(1, 80), entry.length - offset);
  }
}

void World::AccessStep() {
  const auto access =
      choices_.OneOf({AccessKind::kLocalRead, AccessKind::kLocalWrite, AccessKind::kRemoteRead,
                      AccessKind::kRemoteWrite, AccessKind::kRemoteRead, AccessKind::kRemoteWrite,
                      AccessKind::kRemoteAtomic, AccessKind::kTaskSend, AccessKind::kTaskReceive,
                      AccessKind::kBind});
  const Origin origin = TraitsOf(access).origin;
  std::optional<EntryType> type = EntryType::kTask;
  if (origin == Origin::kLocal) type = EntryType::kRegion;
  if (origin == Origin::kRemote) {
    type = choices_.Chance(1, 3) ? EntryType::kRegion : EntryType::kWindow;
  }
  if (choices_.Chance(1, 16)) type = std::nullopt;
  const Entry* entry = nullptr;
  for (int i = 0; i < 3 && (entry == nullptr || entry->state != EntryState::kValid); ++i) {
    entry = PickEntry(type);
  }
  const Key key = PickKey(entry, origin);
  uint64_t address = choices_.Below(1 << 20);
  uint64_t length = choices_.Below(100);
  if (entry != nullptr) {
    const uint64_t offset = OffsetIn(*entry);
    address = entry->start + offset;
    length = LengthFrom(*entry, offset);
    if (access == AccessKind::kRemoteAtomic && !choices_.Chance(1, 16)) {
      length = 8;
      if (!choices_.Chance(1, 8)) address &= ~uint64_t{7};
    }
  }
  const Accessor who = PickAccessor(entry);
  Log("access: kind key address length domain qp",
      {static_cast<uint64_t>(access), key.value(), address, length, who.pd.value(),
       who.qp.value()});
  const Translation actual =
      core_.translator.Translate(key, KeyAddress(address), length, access, who);
  const Outcome expected = reference_.Translate(key, address, length, access, who);
  CompareAccess(actual, expected);
  const Ready* ready = AsReady(actual);
  if (ready != nullptr && difference_.empty() && length > 0) Move(*ready, expected, access);
}

void World::CompareAccess(const Translation& actual, const Outcome& expected) {
  static constexpr std::array<const char*, 3> kKinds = {"ready", "missing pages", "refused"};
  if (const Refusal* refusal = AsRefusal(actual)) tally_.Count(*refusal);
  if (const Fault* fault = AsFault(actual)) tally_.Count(fault->stage);
  if (AsReady(actual) != nullptr) tally_.CountReady();
  if (actual.index() != expected.answer.index()) {
    const Refusal* wanted = std::get_if<Refusal>(&expected.answer);
    const Refusal* got = AsRefusal(actual);
    return Differ(std::string("access: expected ") + kKinds[expected.answer.index()] + " " +
                  (wanted == nullptr ? "" : NameOf(*wanted)) + ", got " + kKinds[actual.index()] +
                  " " + (got == nullptr ? "" : NameOf(*got)));
  }
  if (const Refusal* refusal = AsRefusal(actual)) {
    const Refusal wanted = std::get<Refusal>(expected.answer);
    if (*refusal != wanted) {
      Differ(std::string("access: expected refusal ") + NameOf(wanted) + ", got " +
             NameOf(*refusal));
    }
  } else if (const Fault* fault = AsFault(actual)) {
    const Fault& wanted = std::get<Fault>(expected.answer);
    if (*fault != wanted) {
      Differ("access: expected pages from " + std::to_string(wanted.first_page) + " missing (" +
             std::to_string(wanted.page_count) + "), got " + std::to_string(fault->first_page) +
             " (" + std::to_string(fault->page_count) + "), or another stage, region or guest");
    }
  } else {
    CompareReady(*AsReady(actual), expected);
  }
}

void World::CompareReady(const Ready& ready, const Outcome& expected) {
  if (ready.spans.length() != expected.bytes.size()) return Differ("access: number of bytes");
  size_t at = 0;
  for (const Span span : ready.spans) {
    for (uint64_t i = 0; i < span.length; ++i, ++at) {
      if (span.address.value() + i != expected.bytes[at]) {
        return Differ("access: byte " + std::to_string(at) + " has another machine address");
      }
    }
  }
}

void World::Move(const Ready& ready, const Outcome& expected, AccessKind access) {
  const auto& bytes = expected.bytes;
  if (!std::ranges::all_of(bytes, [&](uint64_t at) { return arena_.Contains(at); })) return;
  if (access == AccessKind::kRemoteAtomic) return MoveAtomic(ready, expected);
  buffer_.resize(bytes.size());
  tally_.CountMoved(bytes.size());
  if (TraitsOf(access).writes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      buffer_[i] = static_cast<std::byte>(steps_ + i * 7);
      arena_.Shadow(bytes[i]) = buffer_[i];
    }
    if (CopyIn(ready.spans, buffer_).copied != bytes.size()) Differ("access: copy in");
    return;
  }
  if (CopyOut(buffer_, ready.spans).copied != bytes.size()) return Differ("access: copy out");
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (buffer_[i] != arena_.Shadow(bytes[i])) return Differ("access: wrong bytes were read");
  }
}

void World::MoveAtomic(const Ready& ready, const Outcome& expected) {
  uint64_t before = 0;
  std::memcpy(&before, &arena_.Shadow(expected.bytes[0]), sizeof(before));
  const bool swaps = choices_.Chance(1, 2);
  const uint64_t guess = choices_.Chance(1, 2) ? before : 5;
  const uint64_t after = !swaps ? before + steps_ : guess == before ? steps_ : before;
  const auto was =
      swaps ? CompareAndSwap(ready.spans, guess, steps_) : FetchAdd(ready.spans, steps_);
  if (!was.has_value() || *was != before) return Differ("access: atomic returned a wrong value");
  std::memcpy(&arena_.Shadow(expected.bytes[0]), &after, sizeof(after));
  tally_.CountMoved(sizeof(after));
}

}  // namespace verbena::memory::model
