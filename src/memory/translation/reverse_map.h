#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/rollback.h"
#include "memory/translation/translation_table.h"

namespace verbena::memory {

// Finds the translation entries that may refer to a physical page, for invalidations (row E9), in
// time proportional to the pages and not to the number of regions.
//
// A record per page would cost many times the entry itself. So a whole leaf of a linear table has
// one record: its pages are contiguous in a range of known size, and the leaf is recorded under the
// one or two blocks of about that size that the range overlaps. To find a page, look up the block
// that contains it at each size in use (a leaf of one 4 KiB page: 2^12; of 512 such pages: 2^21;
// there are at most 26 sizes, commonly three). All records there overlap the block, so records of
// distant regions are never visited. Entries of other tables have a record each, at the size of
// their page.
//
//   cost of a present page: 1/8 byte in a full linear leaf, about 64 bytes otherwise
//
// Owned by the TranslationStore; one thread at a time.
class ReverseMap {
 public:
  // The target of a record: a leaf of a linear table, or a page of another table.
  struct Place {
    TranslationTable* table;
    uint64_t number;

    friend bool operator==(const Place&, const Place&) = default;
  };

  // Records that `place` refers to pages in [first, last], a range of at most 2^block_shift bytes.
  // Throws std::bad_alloc without recording anything.
  void Add(PhysicalSpace space, uint64_t first, uint64_t last, unsigned block_shift, Place place) {
    Insert({space, first, block_shift}, place);
    if (last >> block_shift == first >> block_shift) return;
    Rollback inserted([&] { Erase({space, first, block_shift}, place); });
    Insert({space, last, block_shift}, place);
    inserted.Keep();
  }

  // Undoes an Add with the same arguments.
  void Remove(PhysicalSpace space, uint64_t first, uint64_t last, unsigned block_shift,
              Place place) {
    Erase({space, first, block_shift}, place);
    if (last >> block_shift != first >> block_shift) Erase({space, last, block_shift}, place);
  }

  // Calls fn(place) for every record that may refer to a page of [first, last]; a place in two
  // blocks may be visited twice. fn must not change the map.
  template <class Fn>
  void ForEach(PhysicalSpace space, uint64_t first, uint64_t last, Fn fn) const {
    for (unsigned shift = 0; shift < kShiftEnd; ++shift) {
      if (records_by_shift_[shift] == 0) continue;
      if (((last - first) >> shift) >= records_.size()) {
        // More blocks than records (an unmap of terabytes): visiting every record is cheaper.
        for (const auto& [block, place] : records_) {
          if (block.Overlaps(space, first, last, shift)) fn(place);
        }
        continue;
      }
      const uint64_t blocks = (last >> shift) - (first >> shift) + 1;
      for (uint64_t i = 0; i < blocks; ++i) {
        const auto [from, to] =
            records_.equal_range(Block(space, ((first >> shift) + i) << shift, shift));
        for (auto it = from; it != to; ++it) fn(it->second);
      }
    }
  }

  uint64_t record_count() const { return records_.size(); }
  uint64_t bytes() const;
  bool IsConsistent() const;

 private:
  static constexpr unsigned kShiftEnd =
      PageShift::kMax + TranslationTable::kFanoutBits + 1;  // largest leaf: 512 pages of 256 MiB

  // An aligned block of 2^shift bytes, packed: shift < 64 fits below the block number because
  // blocks are at least 2^12 bytes.
  class Block {
   public:
    Block(PhysicalSpace space, uint64_t address, unsigned shift)
        : number_and_shift_(address >> shift << 6 | shift), space_(space) {
      DCHECK(shift >= PageShift::kMin && shift < kShiftEnd);
    }
    unsigned shift() const { return number_and_shift_ & 63; }
    bool Overlaps(PhysicalSpace space, uint64_t first, uint64_t last, unsigned shift) const {
      const uint64_t number = number_and_shift_ >> 6;
      return space == space_ && this->shift() == shift && number >= first >> shift &&
             number <= last >> shift;
    }
    friend bool operator==(const Block&, const Block&) = default;

    struct Hash {
      size_t operator()(const Block& block) const noexcept {
        uint64_t h = block.number_and_shift_ + (uint64_t{block.space_.value()} << 40);
        h *= 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: spreads neighbouring blocks
        return h ^ h >> 32;
      }
    };

   private:
    uint64_t number_and_shift_;
    PhysicalSpace space_;
  };

  void Insert(Block block, Place place);
  void Erase(Block block, Place place);

  using Records = std::unordered_multimap<Block, Place, Block::Hash>;
  // Registration by work request is on the data path, and a page list has a record per page, so up
  // to this many nodes of erased records are kept for reuse.
  static constexpr size_t kSparesMax = 1024;

  Records records_;
  std::vector<Records::node_type> spares_;
  std::array<uint64_t, kShiftEnd> records_by_shift_{};
};

}  // namespace verbena::memory
