#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/check.h"
#include "rdmacm/rsocket/socket.h"

namespace verbena::rsockets {

// Walks over the buffers of a call, and copies from or to them. Does not own them.
class IoCursor {
 public:
  explicit IoCursor(IoVector buffers) : buffers_(buffers), left_(SizeOf(buffers)) {}

  // The number of bytes up to the end of the last buffer.
  [[nodiscard]] std::size_t left() const { return left_; }

  // REQUIRES: to.size() <= left().
  void CopyOut(std::span<std::byte> to) {
    Walk(to.size(), [&](std::byte* here, std::size_t done, std::size_t count) {
      std::memcpy(to.data() + done, here, count);
    });
  }
  // REQUIRES: from.size() <= left().
  void CopyIn(std::span<const std::byte> from) {
    Walk(from.size(), [&](std::byte* here, std::size_t done, std::size_t count) {
      std::memcpy(here, from.data() + done, count);
    });
  }

 private:
  template <class Fn>
  void Walk(std::size_t length, Fn copy) {
    CHECK(length <= left_);
    for (std::size_t done = 0; done < length;) {
      const iovec& buffer = buffers_.front();
      const std::size_t count = std::min(length - done, buffer.iov_len - offset_);
      if (count > 0) copy(static_cast<std::byte*>(buffer.iov_base) + offset_, done, count);
      done += count;
      offset_ += count;
      if (offset_ < buffer.iov_len) continue;
      buffers_ = buffers_.subspan(1);
      offset_ = 0;
    }
    left_ -= length;
  }

  IoVector buffers_;
  std::size_t left_;
  std::size_t offset_ = 0;  // in the first buffer
};

}  // namespace verbena::rsockets
