#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "memory/memory_error.h"
#include "memory/options.h"
#include "memory/spaces/consumers.h"
#include "memory/spaces/guest_table.h"

namespace verbena::memory::model {

// The expected result of a call or work request: the error, or nullopt for success.
template <class E>
using Verdict = std::optional<E>;

// Where a page is.
struct Page {
  uint64_t where;
  bool writable;
};
using Pages = std::map<uint64_t, Page>;  // the present ones, by number

// The reference's form of a translation table: a set of pages that regions, a guest or a consumer
// share.
struct PageSet {
  uint64_t page_count;
  uint64_t page_bytes;
  GuestKey space;  // the address space of the pages' `where`
  std::optional<uint64_t> linear_base;
  Pages pages;

  const Page* Find(uint64_t page) const {
    const auto it = pages.find(page);
    return it == pages.end() ? nullptr : &it->second;
  }
  Verdict<MemoryError> Map(uint64_t first, uint64_t count, std::optional<uint64_t> where,
                           bool writable);
  Verdict<MemoryError> Unmap(uint64_t first, uint64_t count);
};

struct SegmentRecord {
  uint64_t first, last;  // effective
  uint64_t base;         // virtual, of `first`
  Access rights;
  GuestKey guest;
};

struct GuestRecord {
  GuestKey key;
  uint32_t attributes;
  std::shared_ptr<PageSet> pages;
};

struct ConsumerRecord {
  ConsumerId id;
  bool privileged;
  bool has_segments;
  bool is_flat_outside;
  bool has_pages;
  std::vector<SegmentRecord> segments;
  std::shared_ptr<PageSet> own;  // private page table
  const Pages* shared;           // the owner's table, read in place
  bool inverted;

  const SegmentRecord* FindSegment(uint64_t effective) const;
  bool MayAccess(uint64_t start, uint64_t length, Access needed) const;
  // Whether segments cover all of it, and each grants `needed`.
  bool IsInSegments(uint64_t start, uint64_t length, Access needed) const;
  bool has_all() const { return is_flat_outside || !has_segments; }
  bool MayUsePhysical() const { return privileged || has_all(); }
  Verdict<MemoryError> UpdateSegments(SegmentChange change, const Segment& segment);
};

struct DomainRecord {
  PdId pd;
  ConsumerId owner;
};

// The inverted table of a run, over `frame_count` frames from `base` on.
struct InvertedRecord {
  struct Frame {
    ConsumerId owner;
    uint64_t page;
    bool writable;
  };
  uint64_t base;
  uint64_t frame_count;
  std::map<uint64_t, Frame> frames;  // by machine address

  std::optional<Page> Find(ConsumerId owner, uint64_t page) const;
  Verdict<MemoryError> Map(ConsumerId owner, uint64_t page, uint64_t where, bool writable);
  Verdict<MemoryError> Unmap(ConsumerId owner, uint64_t page);
};

// The address spaces of the reference: guests, consumers, domains and sets of pages.
class AddressSpaces {
 public:
  AddressSpaces(const MemoryOptions& options, uint64_t inverted_base, uint64_t inverted_frames)
      : options_(options), inverted_{inverted_base, inverted_frames, {}} {}

  Verdict<MemoryError> CreateGuest(const GuestSpec& spec, std::optional<GuestKey> made);
  Verdict<MemoryError> DestroyGuest(GuestKey guest);
  Verdict<MemoryError> MapGuest(GuestKey guest, uint64_t from, uint64_t count, uint64_t to,
                                bool writable);
  Verdict<MemoryError> UnmapGuest(GuestKey guest, uint64_t from, uint64_t count);
  Verdict<MemoryError> MapInPlace(GuestKey guest, uint64_t from, uint64_t count, bool writable);

  // `shared` mirrors the table in `spec`, if that is a shared one.
  Verdict<MemoryError> OpenConsumer(const ConsumerSpec& spec, const Pages* shared,
                                    std::optional<ConsumerId> made);
  Verdict<MemoryError> CloseConsumer(ConsumerId id);
  Verdict<MemoryError> UpdateSegments(ConsumerId id, SegmentChange change, const Segment& segment);
  Verdict<MemoryError> MapLocal(ConsumerId id, uint64_t page, uint64_t where, bool writable);
  Verdict<MemoryError> UnmapLocal(ConsumerId id, uint64_t page);

  Verdict<MemoryError> AllocateDomain(ConsumerId owner, std::optional<PdId> made);
  Verdict<MemoryError> DeallocateDomain(PdId pd, bool in_use);

  // Makes every page of the space that overlaps the bytes absent. Returns how many were present.
  uint64_t Invalidate(GuestKey space, uint64_t first, uint64_t last);

  const GuestRecord* FindGuest(GuestKey key) const;
  const ConsumerRecord* FindConsumer(ConsumerId id) const;
  const DomainRecord* FindDomain(PdId pd) const;
  // REQUIRES: the domain exists.
  const ConsumerRecord& OwnerOf(PdId pd) const { return *FindConsumer(FindDomain(pd)->owner); }
  // The page in a consumer's own table, if it is present.
  std::optional<Page> FindLocal(const ConsumerRecord& consumer, uint64_t page) const;

  // Checks that such a set of pages is valid, and within the limits.
  Verdict<MemoryError> CheckPageSet(uint64_t page_count, uint64_t page_bytes,
                                    std::optional<uint64_t> linear_base) const;
  std::shared_ptr<PageSet> MakePageSet(uint64_t page_count, uint64_t page_bytes, GuestKey space,
                                       std::optional<uint64_t> linear_base);
  // Removes the sets that no object uses any more.
  void DropUnused();

  const std::vector<GuestRecord>& guests() const { return guests_; }
  const std::vector<ConsumerRecord>& consumers() const { return consumers_; }
  const std::vector<DomainRecord>& domains() const { return domains_; }
  uint64_t page_set_count() const { return page_sets_.size(); }
  uint64_t present_count() const;

 private:
  ConsumerRecord* Find(ConsumerId id) { return const_cast<ConsumerRecord*>(FindConsumer(id)); }

  const MemoryOptions options_;
  std::vector<GuestRecord> guests_;
  std::vector<ConsumerRecord> consumers_;
  std::vector<DomainRecord> domains_;
  std::vector<std::shared_ptr<PageSet>> page_sets_;
  InvertedRecord inverted_;
};

}  // namespace verbena::memory::model
