#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "queue/ids.h"
#include "verbena/numbers.h"
#include "wire/iwarp/types.h"

namespace verbena::transport {

// A read or atomic of this side that waits for its response.
//
// The STag of a read request names the request, and no memory: the response is placed by the list
// of the work request. So no L_Key leaves this side, and a list may have several elements.
struct OutboundRead {
  queue::WqeNumber wqe{};
  wire::DdpMsn msn{};  // of the request
  Key sink{};          // of a read: the STag of its response
  bool is_atomic = false;
  uint32_t length = 0;
  uint32_t received = 0;  // bytes that the stream has delivered
};

// The reads and atomics of this side that wait for their responses, which arrive in order. At most
// as many as were negotiated (ORD). Owned by a requester.
class OutboundReads {
 public:
  explicit OutboundReads(uint32_t depth) : entries_(std::bit_ceil(depth)) {}

  void Add(const OutboundRead& read) {
    CHECK(size() < entries_.size());
    entries_[end_++ & (entries_.size() - 1)] = read;
  }
  // The oldest; nullptr if there is none.
  [[nodiscard]] OutboundRead* front() { return empty() ? nullptr : &At(begin_); }
  void Pop() {
    CHECK(!empty());
    ++begin_;
  }
  // The read whose response has this STag; nullptr if there is none.
  [[nodiscard]] OutboundRead* Find(Key sink) {
    for (uint64_t i = begin_; i < end_; ++i) {
      if (!At(i).is_atomic && At(i).sink == sink) return &At(i);
    }
    return nullptr;
  }
  // The request with this number.
  [[nodiscard]] OutboundRead* Find(wire::DdpMsn msn) {
    for (uint64_t i = begin_; i < end_; ++i) {
      if (At(i).msn == msn) return &At(i);
    }
    return nullptr;
  }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(end_ - begin_); }
  void Clear() { begin_ = end_; }

 private:
  OutboundRead& At(uint64_t i) { return entries_[i & (entries_.size() - 1)]; }

  std::vector<OutboundRead> entries_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
};

}  // namespace verbena::transport
