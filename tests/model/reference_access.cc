#include <algorithm>

#include "model/reference.h"

namespace verbena::memory::model {
namespace {

constexpr uint64_t kSmallPage = 4096;

// Translates one access byte by byte. `from` is relative to the first byte of the region or task.
class Walk {
 public:
  Walk(const AddressSpaces& spaces, const Entry& target, uint64_t from, uint64_t length,
       bool writes)
      : spaces_(spaces),
        target_(target),
        owner_(spaces.OwnerOf(target.pd)),
        guest_(target.guest),
        from_(from),
        length_(length),
        writes_(writes) {}

  Outcome Run() {
    size_t pieces = 0;
    for (uint64_t i = 0; i < length_; ++i) {
      const std::optional<uint64_t> physical =
          target_.of_address_space ? ThroughOwner(i) : ThroughPages(i);
      if (!physical.has_value()) return std::move(outcome_);
      const std::optional<uint64_t> machine =
          guest_ != kHost ? ThroughGuest(i, *physical) : physical;
      if (!machine.has_value()) return std::move(outcome_);
      const bool continues = i > 0 && outcome_.bytes.back() + 1 == *machine;
      if (!continues && ++pieces > SpanList::kCapacity) break;  // the caller requests the rest
      outcome_.bytes.push_back(*machine);
    }
    outcome_.answer = ExpectedReady();
    return std::move(outcome_);
  }

 private:
  bool Allows(const std::optional<Page>& page) const {
    return page.has_value() && (page->writable || !writes_);
  }

  // The pages to page in: from `first` to the last one that is also missing.
  template <class Find>
  void SetFault(Stage stage, uint64_t page_bytes, uint64_t first, uint64_t last, Find find) {
    while (last > first && Allows(find(last))) --last;
    Fault fault;
    fault.stage = stage;
    fault.for_write = writes_;
    fault.region = target_.local;
    fault.guest = guest_;
    fault.page_shift = *PageShift::FromBytes(page_bytes);
    fault.first_page = first;
    fault.page_count = last - first + 1;
    outcome_.answer = fault;
  }

  std::optional<uint64_t> ThroughPages(uint64_t i) {
    const uint64_t bytes = target_.pages->page_bytes;
    const uint64_t at = target_.first_offset + from_ + i;
    const auto find = [&](uint64_t number) {
      const Page* found = target_.pages->Find(number);
      return found == nullptr ? std::nullopt : std::optional(*found);
    };
    if (i == 0 || at % bytes == 0) {
      page_ = find(at / bytes);
      run_end_ = std::min(length_ - 1, i + (bytes - 1 - at % bytes));
      // Pages that continue each other in physical memory are one piece of it.
      for (uint64_t next = at / bytes + 1; Allows(page_) && run_end_ < length_ - 1; ++next) {
        const auto found = find(next);
        const uint64_t before = page_->where + (next - at / bytes) * bytes;
        if (!Allows(found) || found->where != before || before == 0) break;
        run_end_ = std::min(length_ - 1, run_end_ + bytes);
      }
      if (!Allows(page_)) {
        const uint64_t last = target_.first_offset + from_ + (length_ - 1);
        SetFault(Stage::kFirst, bytes, at / bytes, last / bytes, find);
        return std::nullopt;
      }
    }
    return page_->where + at % bytes;
  }

  // Effective to virtual address by the owner's segments, virtual to physical by its page table.
  std::optional<uint64_t> ThroughOwner(uint64_t i) {
    const uint64_t address = target_.start + from_ + i;
    uint64_t at = address;
    uint64_t left = length_ - 1 - i;  // bytes after this one that are contiguous with it
    const bool is_virtual = target_.address_kind == AddressKind::kVirtual;
    if (owner_.has_segments && !is_virtual) {
      const SegmentRecord* const before = segment_;
      segment_ = owner_.FindSegment(address);
      left_segment_ = before != nullptr && segment_ == nullptr;
      if (segment_ == nullptr && !owner_.is_flat_outside) return Deny(Refusal::kNoSegment);
      guest_ = segment_ == nullptr ? kHost : segment_->guest;
    }
    if (segment_ != nullptr) {
      if (!segment_->rights.Has(writes_ ? Access::kLocalWrite : Access::kLocalRead)) {
        return Deny(Refusal::kOwnerHasNoRight);
      }
      at = segment_->base + (address - segment_->first);
      left = std::min(left, segment_->last - address);
    } else {
      for (const SegmentRecord& segment : owner_.segments) {
        const bool is_behind = left > 0 && segment.first > address && !is_virtual;
        if (is_behind) left = std::min(left, segment.first - address - 1);
      }
    }
    if (guest_ != kHost) {
      run_end_ = i + left;
      return at;
    }
    const auto find = [&](uint64_t number) { return spaces_.FindLocal(owner_, number); };
    const bool new_piece = left_segment_ || (segment_ != nullptr && segment_->first == address);
    if (i == 0 || new_piece || at % kSmallPage == 0) {
      page_ = find(at / kSmallPage);
      run_end_ = i + std::min(left, kSmallPage - 1 - at % kSmallPage);
    }
    if (!Allows(page_)) {
      SetFault(Stage::kFirst, kSmallPage, at / kSmallPage, (at + left) / kSmallPage, find);
      return std::nullopt;
    }
    return page_->where + at % kSmallPage;
  }

  std::optional<uint64_t> ThroughGuest(uint64_t i, uint64_t physical) {
    const GuestRecord* const guest = spaces_.FindGuest(guest_);
    if (guest == nullptr) return Deny(Refusal::kGuestGone);
    const auto find = [&](uint64_t number) {
      const Page* found = guest->pages->Find(number);
      return found == nullptr ? std::nullopt : std::optional(*found);
    };
    const uint64_t number = physical / kSmallPage;
    if (i == 0 || number != guest_page_number_ || guest_ != guest_of_page_) {
      guest_page_ = find(number);
      guest_page_number_ = number;
      guest_of_page_ = guest_;
    }
    if (!Allows(guest_page_)) {
      const uint64_t last = physical + (run_end_ - i);
      SetFault(Stage::kSecond, kSmallPage, number, last / kSmallPage, find);
      return std::nullopt;
    }
    return guest_page_->where + physical % kSmallPage;
  }

  std::optional<uint64_t> Deny(Refusal refusal) {
    outcome_.answer = refusal;
    return std::nullopt;
  }

  const AddressSpaces& spaces_;
  const Entry& target_;
  const ConsumerRecord& owner_;
  GuestKey guest_;  // of the byte that is looked at
  const uint64_t from_;
  const uint64_t length_;
  const bool writes_;
  Outcome outcome_;

  // The segment and pages that translated the previous byte.
  const SegmentRecord* segment_ = nullptr;
  std::optional<Page> page_;
  uint64_t run_end_ = 0;  // the last byte that is physically contiguous with this one
  std::optional<Page> guest_page_;
  uint64_t guest_page_number_ = 0;
  GuestKey guest_of_page_;
  bool left_segment_ = false;  // the byte before this one was in one
};

}  // namespace

// The checks a to g of docs/memory.md, in order.
Verdict<Refusal> Reference::Authorize(Key key, uint64_t address, uint64_t length, AccessKind access,
                                      const Accessor& who) const {
  const Entry* entry = Find(key.index());
  const bool remote = access == AccessKind::kRemoteRead || access == AccessKind::kRemoteWrite ||
                      access == AccessKind::kRemoteAtomic;
  const bool task = access == AccessKind::kTaskSend || access == AccessKind::kTaskReceive;

  // a
  if (entry == nullptr) return Refusal::kNoSuchKey;
  if (entry->state == EntryState::kSwappedOut) return Refusal::kSwappedOut;
  if (entry->state == EntryState::kReserved) return Refusal::kNotValid;
  const bool is_window = entry->type == EntryType::kWindow;
  if (is_window && entry->region->state != EntryState::kValid) return Refusal::kRegionNotValid;
  const GuestKey guest = (is_window ? entry->region : entry)->guest;
  if (guest != kHost && spaces.FindGuest(guest) == nullptr) return Refusal::kGuestGone;

  // b
  if (task != (entry->type == EntryType::kTask)) return Refusal::kWrongType;
  if (is_window && !remote) return Refusal::kWrongType;
  if (remote && !is_window && !remote_through_regions_) return Refusal::kWrongType;

  // c
  const bool any_domain = is_window && entry->window_type == WindowType::k2A;
  const bool any_qp = !is_window || entry->window_type == WindowType::k1;
  if (!any_domain && who.pd != entry->pd) return Refusal::kWrongDomain;
  if (!any_qp && who.qp != entry->qp) return Refusal::kWrongQp;

  // d
  if (key != (remote || task ? entry->remote : entry->local)) return Refusal::kStaleVariant;

  // e: in 128 bits, which no sum overflows.
  __extension__ using Wide = unsigned __int128;
  const Wide end = Wide{entry->start} + entry->length;
  if (address < entry->start || Wide{address} + length > end) return Refusal::kOutOfRange;

  // f
  const auto right = [&] {
    switch (access) {
      case AccessKind::kLocalRead:
        return Access::kLocalRead;
      case AccessKind::kLocalWrite:
        return Access::kLocalWrite;
      case AccessKind::kBind:
        return Access::kNone;
      case AccessKind::kRemoteRead:
      case AccessKind::kTaskSend:
        return Access::kRemoteRead;
      case AccessKind::kRemoteWrite:
      case AccessKind::kTaskReceive:
        return Access::kRemoteWrite;
      case AccessKind::kRemoteAtomic:
        return Access::kRemoteAtomic;
    }
    return Access::kAll;
  }();
  if (!entry->rights.Has(right)) return Refusal::kNoRight;

  // g
  if (access == AccessKind::kBind && !entry->rights.Has(Access::kWindowBind)) {
    return Refusal::kNotBindable;
  }
  if (access == AccessKind::kTaskSend && entry->command_reads) return Refusal::kWrongCommand;
  if (access == AccessKind::kTaskReceive && !entry->command_reads) return Refusal::kWrongCommand;

  if (access == AccessKind::kRemoteAtomic && (length != 8 || address % 8 != 0)) {
    return Refusal::kMisaligned;
  }
  return std::nullopt;
}

Outcome Reference::Translate(Key key, uint64_t address, uint64_t length, AccessKind access,
                             const Accessor& who) const {
  if (length == 0) return {ExpectedReady(), {}};
  if (const auto no = Authorize(key, address, length, access, who)) return {*no, {}};
  const Entry& entry = *Find(key.index());
  const bool is_window = entry.type == EntryType::kWindow;
  const Entry& target = is_window ? *entry.region : entry;
  const uint64_t from = address - entry.start + (is_window ? entry.offset : 0);
  const bool writes = access == AccessKind::kLocalWrite || access == AccessKind::kRemoteWrite ||
                      access == AccessKind::kRemoteAtomic || access == AccessKind::kTaskReceive;
  Outcome outcome = Walk(spaces, target, from, length, writes).Run();
  const bool landed = std::holds_alternative<ExpectedReady>(outcome.answer);
  if (access == AccessKind::kRemoteAtomic && landed && outcome.bytes[0] % 8 != 0) {
    return {Refusal::kMisaligned, {}};
  }
  return outcome;
}

}  // namespace verbena::memory::model
