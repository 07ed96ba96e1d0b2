#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "memory/address.h"

namespace verbena::memory {

// Contiguous bytes of machine memory.
struct Span {
  MachineAddress address;
  uint64_t length = 0;

  friend bool operator==(const Span&, const Span&) = default;
};

// The bytes of one access in order, as contiguous spans. A value with a fixed capacity and no
// allocation: a packet of 4096 bytes crosses at most two pages; longer accesses are translated in
// parts. The array is left uninitialised, because clearing it would cost more than a translation.
class SpanList {
 public:
  static constexpr size_t kCapacity = 8;

  class Iterator {
   public:
    Iterator(const SpanList* list, size_t at) : list_(list), at_(at) {}
    Span operator*() const { return (*list_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const SpanList* list_;
    size_t at_;
  };

  SpanList() {}  // NOLINT(modernize-use-equals-default): `= default` would clear the array.

  // Adds bytes at the end, or extends the last span if they are contiguous with it. False, without
  // change, if the list is full.
  [[nodiscard]] bool Append(Span span) {
    DCHECK(span.length > 0);
    if (count_ > 0) {
      Piece& last = pieces_[count_ - 1];
      if (last.address + last.length == span.address.value()) {
        last.length += span.length;
        length_ += span.length;
        return true;
      }
    }
    if (count_ == kCapacity) return false;
    pieces_[count_++] = {span.address.value(), span.length};
    length_ += span.length;
    return true;
  }

  // Adds the first span. REQUIRES: empty().
  void Begin(Span span) {
    DCHECK(count_ == 0 && span.length > 0);
    pieces_[0] = {span.address.value(), span.length};
    count_ = 1;
    length_ = span.length;
  }

  void Clear() { count_ = 0, length_ = 0; }

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  uint64_t length() const { return length_; }
  Span operator[](size_t i) const {
    DCHECK(i < count_);
    return {MachineAddress(pieces_[i].address), pieces_[i].length};
  }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, count_}; }

 private:
  struct Piece {
    uint64_t address;
    uint64_t length;
  };

  Piece pieces_[kCapacity];
  size_t count_ = 0;
  uint64_t length_ = 0;
};

}  // namespace verbena::memory
