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

// A request that is answered with more than an acknowledgement, and how far its answer has come.
struct Reply {
  enum class Kind : uint8_t {
    kRead,    // from memory, each time anew
    kAtomic,  // from the value that was found when it was executed
    kPlaced,  // atomic write, flush: an empty read response says that it was done
  };

  Kind kind = Kind::kRead;
  Psn first{};
  uint32_t packet_count = 1;
  wire::Msn msn{};  // that counts this request
  Key key{};
  memory::PdId pd{};
  KeyAddress address{};
  uint32_t length = 0;
  uint64_t original = 0;  // kAtomic

  // Packets `next` to `end` are to be sent; the run of them began at `begin`, and its last byte is
  // the one before `stop`.
  uint32_t begin = 0;
  uint32_t next = 0;
  uint32_t end = 0;
  uint32_t stop = 0;
  bool was_sent = false;   // once, to its end
  bool is_repeat = false;  // it was when the run of packets began
  uint8_t losses = 0;      // of pages under it

  // The key is good for one message, which is this one: it is kept for the peer that lost packets
  // of the answer. A peer that wants to read for ever through such a key gets no further than one
  // that never gives up: a requester makes 7 tries without progress at most (IBA 9.9.2.1.1), and
  // the network may double them.
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
  // Packets from `from` on were not sent after all.
  void TakeBack(uint32_t from) {
    next = std::min(next, std::max(from, begin));
    was_sent = is_repeat;
  }
  [[nodiscard]] Psn next_psn() const { return first + next; }
  [[nodiscard]] bool Covers(Psn psn) const { return (psn - first.value()).value() < packet_count; }

  // Asks for `count` packets from `from` on, whatever was asked for before: the peer has no use for
  // the rest.
  void Answer(uint32_t from, uint32_t count, uint32_t stop_at) {
    begin = next = from;
    end = from + count;
    stop = stop_at;
    is_repeat = was_sent;
  }
};

// The last reads, atomics, atomic writes and flushes, as many as the peer may have outstanding, so
// that their duplicates can be answered (IBA 9.7.5: resources of the responder). Also the order
// in which answers go out.
//
// Invariant: oldest first, and never more than the capacity; memory is allocated once.
// Owned by a responder; one thread at a time.
class ReplayCache {
 public:
  explicit ReplayCache(uint8_t capacity) : replies_(capacity) {}

  // False when the peer has more outstanding than it may: the oldest would have to go, and was
  // never answered. If it was, and is only due again for a late duplicate, the peer has its answer:
  // else it would not ask for more.
  [[nodiscard]] bool HasRoom() const {
    return count_ < replies_.size() || (count_ > 0 && at(0).was_sent);
  }
  // The reply is to be sent as a whole. REQUIRES: HasRoom().
  void Add(const Reply& reply);

  // The request that this PSN belongs to; nullptr if it is forgotten or never was.
  [[nodiscard]] Reply* Find(Psn psn);
  // The oldest that has something to be sent.
  [[nodiscard]] Reply* FirstPending() {
    const size_t i = FirstPendingIndex();
    return i < count_ ? &at(i) : nullptr;
  }
  [[nodiscard]] const Reply* FirstPending() const {
    const size_t i = FirstPendingIndex();
    return i < count_ ? &at(i) : nullptr;
  }
  [[nodiscard]] bool has_pending() const { return FirstPendingIndex() < count_; }

  // The reply that the next Add forgets; nullptr if there is room for all.
  [[nodiscard]] const Reply* Leaving() const {
    return count_ > 0 && count_ == replies_.size() ? &at(0) : nullptr;
  }

  // Whether the key is held by the last read, which ended just before `start`; it is not any more.
  // A peer may ask for one long read in parts, each when the one before has been answered.
  [[nodiscard]] bool TakeOverKey(Key key, KeyAddress start);

  // Nothing more is sent.
  void DropPending();
  // A key that some reply holds, and does not from then on.
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
};

}  // namespace verbena::transport
