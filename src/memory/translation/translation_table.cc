#include "memory/translation/translation_table.h"

#include <cstdlib>
#include <new>

namespace verbena::memory {
namespace {

TranslationTable::Levels LevelsFor(uint64_t page_count) {
  using Levels = TranslationTable::Levels;
  constexpr uint64_t kFanout = TranslationTable::kFanout;
  if (page_count <= kFanout) return Levels::kDirect;
  if (page_count <= kFanout * kFanout) return Levels::kOneIndirect;
  return Levels::kTwoIndirect;
}

// All nodes are zeroed memory from calloc: for a large root the system supplies zero pages lazily,
// so that untouched parts of the root take no memory.
void* AllocateZeroed(uint64_t bytes) {
  void* node = std::calloc(1, bytes);
  if (node == nullptr) throw std::bad_alloc();
  return node;
}

}  // namespace

TranslationTable::TranslationTable(uint64_t page_count, PageShift page_shift, PhysicalSpace space,
                                   std::optional<PhysicalAddress> linear_base)
    : page_count_(page_count),
      linear_base_(linear_base.value_or(PhysicalAddress()).value()),
      space_(space),
      page_shift_(page_shift),
      levels_(LevelsFor(page_count)),
      is_linear_(linear_base.has_value()) {
  CHECK(page_count > 0 && page_count <= kPagesMax);
  CHECK((linear_base_ & page_shift.mask()) == 0);
}

TranslationTable::~TranslationTable() {
  if (root_ != nullptr && levels_ != Levels::kDirect) {
    ForEachLeaf(0, leaf_count() - 1, [](uint64_t, void* leaf) { std::free(leaf); });
    if (levels_ == Levels::kTwoIndirect) {
      void** middles = static_cast<void**>(root_);
      for (uint64_t i = 0; i < DirectorySize(); ++i) std::free(middles[i]);
    }
  }
  std::free(root_);
}

// The number of pointers in the root, if it is a directory.
uint64_t TranslationTable::DirectorySize() const {
  switch (levels_) {
    case Levels::kDirect:
      return 0;
    case Levels::kOneIndirect:
      return leaf_count();
    case Levels::kTwoIndirect:
      return (leaf_count() + kFanout - 1) >> kFanoutBits;
  }
  UNREACHABLE();
}

// The pointer to a leaf. Allocates the directories above the leaf.
void*& TranslationTable::PlaceOf(uint64_t leaf) {
  if (levels_ == Levels::kDirect) return root_;
  if (root_ == nullptr) root_ = AllocateZeroed(DirectorySize() * sizeof(void*));
  void** directory = static_cast<void**>(root_);
  if (levels_ == Levels::kTwoIndirect) {
    void*& middle = directory[leaf >> kFanoutBits];
    if (middle == nullptr) middle = AllocateZeroed(kFanout * sizeof(void*));
    directory = static_cast<void**>(middle);
    leaf &= kFanout - 1;
  }
  return directory[leaf];
}

TranslationTable::MadeLeaf TranslationTable::MakeLeaf(uint64_t leaf) {
  void*& place = PlaceOf(leaf);
  const bool is_new = place == nullptr;
  if (is_new) place = AllocateZeroed(LeafBytes(leaf));
  return {place, is_new};
}

void TranslationTable::DropLeaf(uint64_t leaf) {
  void*& place = PlaceOf(leaf);
  std::free(place);
  place = nullptr;
}

bool TranslationTable::FindInTwoPages(uint64_t position, uint64_t length, bool write,
                                      PhysicalAddress& at) const {
  const uint64_t in_first = page_shift_.bytes() - (position & page_shift_.mask());
  if (!is_linear_ || length - in_first > page_shift_.bytes()) return false;
  const uint64_t page = position >> page_shift_.value();
  const uint64_t in_leaf = page & (kFanout - 1);
  const void* const leaf = FindLeaf(page >> kFanoutBits);
  if (leaf == nullptr || in_leaf + 1 == kFanout) return false;
  const uint8_t* const entries = static_cast<const uint8_t*>(leaf) + in_leaf;
  at = PhysicalAddress(linear_base_ + position);
  return PageEntry::FromBits(entries[0]).Allows(write) &&
         PageEntry::FromBits(entries[1]).Allows(write);
}

uint64_t TranslationTable::AllocatedBytes() const {
  if (root_ == nullptr) return 0;
  uint64_t bytes = DirectorySize() * sizeof(void*);
  ForEachLeaf(0, leaf_count() - 1, [&](uint64_t leaf, void*) { bytes += LeafBytes(leaf); });
  if (levels_ == Levels::kTwoIndirect) {
    void** middles = static_cast<void**>(root_);
    for (uint64_t i = 0; i < DirectorySize(); ++i) {
      bytes += middles[i] == nullptr ? 0 : kFanout * sizeof(void*);
    }
  }
  return bytes;
}

}  // namespace verbena::memory
