#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "transport/iwarp/terminate_reason.h"
#include "wire/iwarp/rdmap_atomic.h"
#include "wire/iwarp/rdmap_read_request.h"
#include "wire/iwarp/types.h"

namespace verbena::transport {

// A read or atomic of the peer, until all of its response is framed.
struct InboundRead {
  enum class Kind : uint8_t { kRead, kAtomic };

  Kind kind = Kind::kRead;
  wire::DdpMsn msn{};
  wire::RdmapReadRequest read{};
  uint32_t sent = 0;       // bytes of the response
  bool holds_key = false;  // a one-touch key that lasts until the response ends
  wire::RdmapAtomicResponse atomic{};
};

// The reads and atomics of the peer, indexed by their message sequence number (row B10): as many as
// were negotiated (IRD). A request that arrives ahead of the stream must have an entry, too; it is
// answered when the stream has delivered it.
//
//        head_              next_              head_ + depth
//   answered | to be answered | may be here early |  out of range
//   ---------+----------------+-------------------+--------------->  MSN
//
// Invariant: next_ is at most depth after head_. Owned by a responder.
class ReadQueue {
 public:
  explicit ReadQueue(uint32_t depth) : depth_(depth), entries_(std::bit_ceil(depth)) {}

  // Why a request with this number has no entry, in the order of the stream or ahead of it; nullopt
  // if it has one.
  [[nodiscard]] std::optional<StreamError> Check(wire::DdpMsn msn, bool in_order) const {
    if (in_order && msn != next_) return StreamError::kMsnRange;
    if (Distance(next_, msn) < 0) return StreamError::kMsnRange;
    const auto ahead = static_cast<uint32_t>(Distance(head_, msn));
    if (ahead >= depth_) {
      return msn == next_ ? StreamError::kNoReadEntry : StreamError::kMsnRange;
    }
    return std::nullopt;
  }

  // The stream has delivered the next request. REQUIRES: Check of its number succeeded.
  void Deliver(const InboundRead& request) {
    DCHECK(!Check(request.msn, true));
    At(request.msn) = request;
    ++next_;
  }

  // The oldest request that is not answered; nullptr if there is none.
  [[nodiscard]] InboundRead* front() { return empty() ? nullptr : &At(head_); }
  [[nodiscard]] const InboundRead* front() const { return empty() ? nullptr : &At(head_); }
  // It is answered.
  void Pop() {
    CHECK(!empty());
    ++head_;
  }
  [[nodiscard]] bool empty() const { return head_ == next_; }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(Distance(head_, next_)); }

  [[nodiscard]] bool IsConsistent() const {
    return Distance(head_, next_) >= 0 && size() <= depth_;
  }

 private:
  InboundRead& At(wire::DdpMsn msn) { return entries_[msn.value() & (entries_.size() - 1)]; }
  const InboundRead& At(wire::DdpMsn msn) const {
    return entries_[msn.value() & (entries_.size() - 1)];
  }

  uint32_t depth_;
  std::vector<InboundRead> entries_;  // a power of two, so that the index wraps with the number
  wire::DdpMsn head_ = wire::kFirstDdpMsn;
  wire::DdpMsn next_ = wire::kFirstDdpMsn;
};

}  // namespace verbena::transport
