#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "base/check.h"

namespace verbena::transport {

// The bytes that a stream is to send: the machine adds frames, the adapter hands the oldest bytes
// to the system. A ring whose frames are contiguous: a frame that does not fit before the end of
// the memory begins at its start, and the bytes before the end are left unused.
//
//   not wrapped:   free | begin_ .. end_ | free
//   wrapped:       0 .. wrapped_end_ | free | begin_ .. end_ | unused
//
// Invariant: begin_ <= end_ <= capacity, and wrapped_end_ <= begin_. Owned by a stream of the
// adapter; used by one thread at a time.
class SendBuffer {
 public:
  explicit SendBuffer(size_t capacity)
      : capacity_(capacity), bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity)) {}
  SendBuffer(const SendBuffer&) = delete;
  SendBuffer& operator=(const SendBuffer&) = delete;

  // Room for `size` bytes behind all others; empty if there is none now. Nothing is added before
  // Commit.
  [[nodiscard]] std::span<std::byte> Reserve(size_t size) {
    const bool at_end = !is_wrapped_ && capacity_ - end_ >= size;
    reserved_wraps_ = !at_end && begin_ - wrapped_end_ >= size;
    reserved_ = nullptr;
    if (!at_end && !reserved_wraps_) return {};
    reserved_ = bytes_.get() + (at_end ? end_ : wrapped_end_);
    return {reserved_, size};
  }
  // Adds the first `size` bytes of the room that was reserved last.
  void Commit(size_t size) {
    CHECK(reserved_ != nullptr);
    if (reserved_wraps_) {
      is_wrapped_ = true;
      wrapped_end_ += size;
    } else {
      end_ += size;
    }
    reserved_ = nullptr;
    DCHECK(IsConsistent());
  }

  // All bytes, the oldest first, in two pieces; the second may be empty.
  [[nodiscard]] std::array<std::span<const std::byte>, 2> bytes() const {
    return {std::span<const std::byte>(bytes_.get() + begin_, end_ - begin_),
            std::span<const std::byte>(bytes_.get(), wrapped_end_)};
  }
  [[nodiscard]] size_t size() const { return end_ - begin_ + wrapped_end_; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] size_t capacity() const { return capacity_; }

  // The system has taken the oldest bytes. REQUIRES: there are as many, and no room is reserved.
  void Consume(size_t size) {
    CHECK(size <= this->size());
    reserved_ = nullptr;
    const size_t first = size < end_ - begin_ ? size : end_ - begin_;
    begin_ += first;
    if (begin_ < end_) return;
    begin_ = is_wrapped_ ? size - first : 0;
    end_ = wrapped_end_;
    wrapped_end_ = 0;
    is_wrapped_ = false;
    if (begin_ == end_) begin_ = end_ = 0;
    DCHECK(IsConsistent());
  }
  void Clear() { Consume(size()); }

  [[nodiscard]] bool IsConsistent() const {
    return begin_ <= end_ && end_ <= capacity_ && wrapped_end_ <= begin_ &&
           (is_wrapped_ || wrapped_end_ == 0);
  }

 private:
  const size_t capacity_;
  const std::unique_ptr<std::byte[]> bytes_;
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t wrapped_end_ = 0;
  bool is_wrapped_ = false;
  std::byte* reserved_ = nullptr;  // the room that was reserved last
  bool reserved_wraps_ = false;
};

}  // namespace verbena::transport
