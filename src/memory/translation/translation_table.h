#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/check.h"
#include "base/page.h"
#include "memory/address.h"

namespace verbena::memory {

// Address and flags of a page, in 8 bytes. The address is aligned to at least 4 KiB, so its low
// twelve bits are free for flags. An absent page is all zero, unless it is *away*: absent, but with
// the address at which it becomes present again.
class PageEntry {
 public:
  constexpr PageEntry() = default;
  constexpr PageEntry(PhysicalAddress page, bool writable)
      : bits_(page.value() | kPresent | (writable ? kWritable : 0)) {
    DCHECK((page.value() & kFlags) == 0);
  }
  static constexpr PageEntry FromBits(uint64_t bits) {
    PageEntry entry;
    entry.bits_ = bits;
    return entry;
  }

  constexpr bool present() const { return (bits_ & kPresent) != 0; }
  // The entry has an address: the page is present, or away.
  constexpr bool is_named() const { return bits_ != 0; }
  constexpr PageEntry Away() const { return FromBits(bits_ & ~kPresent); }
  // REQUIRES: is_named().
  constexpr PageEntry Back() const { return FromBits(bits_ | kPresent); }
  constexpr bool writable() const { return (bits_ & kWritable) != 0; }
  constexpr bool Allows(bool write) const {
    const uint64_t needed = kPresent | uint64_t{write} * kWritable;
    return (bits_ & needed) == needed;
  }
  constexpr PhysicalAddress address() const { return PhysicalAddress(bits_ & ~kFlags); }
  constexpr uint64_t bits() const { return bits_; }
  constexpr uint8_t flags() const { return static_cast<uint8_t>(bits_); }

  friend constexpr bool operator==(PageEntry, PageEntry) = default;

 private:
  static constexpr uint64_t kPresent = 1;
  static constexpr uint64_t kWritable = 2;
  static constexpr uint64_t kFlags = 0xfff;

  uint64_t bits_ = 0;
};
static_assert(sizeof(PageEntry) == 8);

// The address space of a table's entries: 0 is machine memory, any other is the physical memory of
// that guest.
using PhysicalSpace = StrongId<struct PhysicalSpaceTag, uint32_t>;
inline constexpr PhysicalSpace kMachineSpace{0};

// Maps page numbers to page entries, as a tree whose depth depends on the size:
//
//   direct        up to 512 pages            root = leaf
//   one level     up to 512 * 512 pages      root -> leaf
//   two levels    up to 2^36 pages           root -> middle -> leaf
//
// Nothing is allocated before the first page becomes present, and a leaf for 512 pages only when
// one of them does: an untouched region of any size takes only the object itself.
//
// A *linear* table describes contiguous memory: page n can only be at base + n * page size. Its
// leaves have one byte of flags per page. Leaves of other tables, whose pages can be at any
// address, have an 8-byte entry per page.
//
// Created and changed only by the TranslationStore, which updates the reverse map.
class TranslationTable {
 public:
  static constexpr unsigned kFanoutBits = 9;
  static constexpr uint64_t kFanout = uint64_t{1} << kFanoutBits;
  static constexpr uint64_t kPagesMax = uint64_t{1} << 36;

  enum class Levels : uint8_t { kDirect, kOneIndirect, kTwoIndirect };

  TranslationTable(uint64_t page_count, PageShift page_shift, PhysicalSpace space,
                   std::optional<PhysicalAddress> linear_base);
  ~TranslationTable();
  TranslationTable(const TranslationTable&) = delete;
  TranslationTable& operator=(const TranslationTable&) = delete;

  // Absent for pages that were never set. REQUIRES: page < page_count().
  PageEntry Find(uint64_t page) const {
    DCHECK(page < page_count_);
    const void* leaf = FindLeaf(page >> kFanoutBits);
    return leaf == nullptr ? PageEntry() : Load(leaf, page);
  }

  // Fast path. Finds the address of `length` bytes at byte `position`, if they lie in one page, or
  // in two pages of one leaf of a linear table, and these pages allow the access. If it returns
  // false, the caller must use Find.
  bool FindSingleSpan(uint64_t position, uint64_t length, bool write, PhysicalAddress& at) const {
    const uint64_t in_page = position & page_shift_.mask();
    if (length > page_shift_.bytes() - in_page) return FindInTwoPages(position, length, write, at);
    const uint64_t page = position >> page_shift_.value();
    const void* leaf = FindLeaf(page >> kFanoutBits);
    if (leaf == nullptr) return false;
    const uint64_t in_leaf = page & (kFanout - 1);
    if (is_linear_) {
      at = PhysicalAddress(linear_base_ + position);
      return PageEntry::FromBits(static_cast<const uint8_t*>(leaf)[in_leaf]).Allows(write);
    }
    const PageEntry entry = static_cast<const PageEntry*>(leaf)[in_leaf];
    at = PhysicalAddress(entry.address().value() + in_page);
    return entry.Allows(write);
  }

  uint64_t page_count() const { return page_count_; }
  PageShift page_shift() const { return page_shift_; }
  Levels levels() const { return levels_; }
  PhysicalSpace space() const { return space_; }
  bool is_linear() const { return is_linear_; }
  // The only address that page `page` can have. REQUIRES: is_linear().
  PhysicalAddress LinearAddress(uint64_t page) const {
    DCHECK(is_linear_);
    return PhysicalAddress(linear_base_ + (page << page_shift_.value()));
  }

  uint64_t leaf_count() const { return (page_count_ + kFanout - 1) >> kFanoutBits; }
  uint64_t LeafSize(uint64_t leaf) const {
    return std::min(kFanout, page_count_ - (leaf << kFanoutBits));
  }

 private:
  friend class TranslationStore;

  // A leaf, or null if none of its pages has been present.
  void* FindLeaf(uint64_t leaf) const {
    if (levels_ == Levels::kDirect || root_ == nullptr) return root_;
    void** directory = static_cast<void**>(root_);
    if (levels_ == Levels::kTwoIndirect) {
      directory = static_cast<void**>(directory[leaf >> kFanoutBits]);
      if (directory == nullptr) return nullptr;
      leaf &= kFanout - 1;
    }
    return directory[leaf];
  }

  // The entry of `page` in its leaf.
  PageEntry Load(const void* leaf, uint64_t page) const {
    const uint64_t at = page & (kFanout - 1);
    if (!is_linear_) return static_cast<const PageEntry*>(leaf)[at];
    const uint8_t flags = static_cast<const uint8_t*>(leaf)[at];
    if (flags == 0) return PageEntry();
    return PageEntry::FromBits(LinearAddress(page).value() | flags);
  }
  void Store(void* leaf, uint64_t page, PageEntry entry) const {
    const uint64_t at = page & (kFanout - 1);
    if (is_linear_) {
      static_cast<uint8_t*>(leaf)[at] = entry.flags();
    } else {
      static_cast<PageEntry*>(leaf)[at] = entry;
    }
  }

  [[gnu::noinline]] bool FindInTwoPages(uint64_t position, uint64_t length, bool write,
                                        PhysicalAddress& at) const;

  struct MadeLeaf {
    void* leaf;
    bool is_new;
  };
  // Throws std::bad_alloc.
  MadeLeaf MakeLeaf(uint64_t leaf);
  // REQUIRES: the leaf exists.
  void DropLeaf(uint64_t leaf);
  void*& PlaceOf(uint64_t leaf);
  uint64_t LeafBytes(uint64_t leaf) const {
    return LeafSize(leaf) * (is_linear_ ? sizeof(uint8_t) : sizeof(PageEntry));
  }

  // Calls fn(leaf number, leaf) for every leaf that exists in [first, last]. Skips middles that do
  // not exist.
  template <class Fn>
  void ForEachLeaf(uint64_t first, uint64_t last, Fn fn) const {
    if (root_ == nullptr) return;
    for (uint64_t leaf = first; leaf <= last; ++leaf) {
      if (levels_ == Levels::kTwoIndirect &&
          static_cast<void**>(root_)[leaf >> kFanoutBits] == nullptr) {
        leaf |= kFanout - 1;
        continue;
      }
      if (void* found = FindLeaf(leaf); found != nullptr) fn(leaf, found);
    }
  }

  uint64_t DirectorySize() const;
  uint64_t AllocatedBytes() const;

  uint64_t page_count_;
  uint64_t linear_base_;
  void* root_ = nullptr;
  PhysicalSpace space_;
  uint32_t users_ = 1;  // regions that share it; the last one frees it
  PageShift page_shift_;
  Levels levels_;
  bool is_linear_;
};

}  // namespace verbena::memory
