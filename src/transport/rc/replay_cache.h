#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "memory/address.h"
#include "memory/spaces/protection_domain.h"
#include "verbena/numbers.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// A request that has a response other than an acknowledgement, and the progress of that response.
struct Reply {
  enum class Kind : uint8_t {
    kRead,    // read from memory each time
    kAtomic,  // the value before the operation was executed
    kPlaced,  // atomic write, flush: an empty read response
  };

  Kind kind = Kind::kRead;
  Psn first{};
  uint32_t packet_count = 1;
  wire::Msn msn{};  // the number of this request
  Key key{};
  memory::PdId pd{};
  KeyAddress address{};
  uint32_t length = 0;
  uint64_t original = 0;  // kAtomic

  // Packets `next` to `end` are to be sent. This series of packets began at `begin`, and its last
  // byte is the one before `stop`.
  uint32_t begin = 0;
  uint32_t next = 0;
  uint32_t end = 0;
  uint32_t stop = 0;
  bool was_sent = false;   // completely, at least once
  bool is_repeat = false;  // was_sent when the series of packets began
  uint8_t losses = 0;      // pages lost so far

  // The key is valid for one message, and this is it. The key is kept for a peer that lost packets
  // of the response. Repeats are limited, so that a peer cannot read for ever through such a key: a
  // requester makes at most 7 tries without progress (IBA 9.9.2.1.1), and the network may duplicate
  // them.
  static constexpr uint8_t kRepeatsMax = 16;
  bool holds_key = false;
  uint8_t repeats = 0;  // without progress

  [[nodiscard]] bool MayRepeat(uint32_t from) {
    repeats = from > begin ? uint8_t{0} : repeats;
    return repeats++ < kRepeatsMax;
  }

  [[nodiscard]] bool is_pending() const { return next < end; }
  void Drop() { next = end; }
  void Advance() { was_sent |= ++next == end; }
  // Packets from `from` on were not sent.
  void TakeBack(uint32_t from) {
    next = std::min(next, std::max(from, begin));
    was_sent = is_repeat;
  }
  [[nodiscard]] Psn next_psn() const { return first + next; }
  [[nodiscard]] bool Covers(Psn psn) const { return (psn - first.value()).value() < packet_count; }

  // Requests `count` packets from `from` on. Replaces an earlier request: the peer does not need
  // the rest of it.
  void Answer(uint32_t from, uint32_t count, uint32_t stop_at) {
    begin = next = from;
    end = from + count;
    stop = stop_at;
    is_repeat = was_sent;
  }
};

// The last reads, atomics, atomic writes and flushes, as many as the peer may have outstanding, so
// that duplicates can be answered (IBA 9.7.5: resources of the responder). Their order is the order
// of the responses.
//
// Invariant: oldest first, and never more than the capacity; memory is allocated once. Owned by a
// responder; used by one thread at a time.
class ReplayCache {
 public:
  explicit ReplayCache(uint8_t capacity) : replies_(capacity) {}

  // False if the peer has too many outstanding: the oldest entry would be replaced before its
  // response was sent. If its response was sent, and is due again only for a late duplicate, the
  // entry can be replaced: the peer has the response, or it would not send a new request.
  [[nodiscard]] bool HasRoom() const {
    return count_ < replies_.size() || (count_ > 0 && at(0).was_sent);
  }
  // The whole response is to be sent. REQUIRES: HasRoom().
  void Add(const Reply& reply);

  // The request to which this PSN belongs; nullptr if it was replaced or never existed. Until the
  // next call the caller may make its response pending again.
  [[nodiscard]] Reply* Find(Psn psn);
  // The oldest entry with packets to be sent.
  [[nodiscard]] Reply* FirstPending() {
    const size_t i = FirstPendingIndex();
    return i < count_ ? &at(i) : nullptr;
  }
  [[nodiscard]] const Reply* FirstPending() const {
    const size_t i = FirstPendingIndex();
    return i < count_ ? &at(i) : nullptr;
  }
  [[nodiscard]] bool has_pending() const { return FirstPendingIndex() < count_; }

  // The entry that the next Add replaces; nullptr if there is a free place.
  [[nodiscard]] const Reply* Leaving() const {
    return count_ > 0 && count_ == replies_.size() ? &at(0) : nullptr;
  }

  // Whether the last read, which ended just before `start`, holds the key. If so, it no longer
  // does. A peer may issue one long read in parts, each after the response to the part before.
  [[nodiscard]] bool TakeOverKey(Key key, KeyAddress start);

  // Sends nothing more.
  void DropPending();
  // A key that an entry holds. The entry no longer holds it.
  [[nodiscard]] std::optional<Key> TakeHeldKey();

  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] bool IsConsistent() const;

 private:
  // size() if there is none.
  [[nodiscard]] size_t FirstPendingIndex() const;
  [[nodiscard]] const Reply& at(size_t i) const {
    return replies_[(oldest_ + i) % replies_.size()];
  }
  [[nodiscard]] Reply& at(size_t i) { return replies_[(oldest_ + i) % replies_.size()]; }

  std::vector<Reply> replies_;
  size_t oldest_ = 0;
  size_t count_ = 0;
  // The oldest entries that are known not to be pending: each packet of a response asks for the
  // first one that is.
  mutable size_t not_pending_ = 0;
};

}  // namespace verbena::transport
