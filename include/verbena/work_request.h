#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "verbena/access.h"
#include "verbena/numbers.h"

namespace verbena {

// Bytes of this program's memory: an element of a scatter/gather list.
struct Sge {
  uint64_t address = 0;
  uint32_t length = 0;
  Key key = {};  // L_Key

  friend bool operator==(const Sge&, const Sge&) = default;
};

// A scatter/gather list. A single element is copied; a range is referred to, and must stay valid
// until the request is posted.
class SgeList {
 public:
  constexpr SgeList() = default;
  // Implicit, so that an element or a range of elements can be given for a list.
  constexpr SgeList(const Sge& one)  // NOLINT(google-explicit-constructor)
      : one_(one), size_(1) {}
  template <class Range>
  requires std::convertible_to<const Range&, std::span<const Sge>>
  constexpr SgeList(const Range& range)  // NOLINT(google-explicit-constructor)
      : many_(std::span<const Sge>(range).data()), size_(std::span<const Sge>(range).size()) {}

  [[nodiscard]] constexpr size_t size() const { return size_; }
  [[nodiscard]] constexpr const Sge* begin() const { return many_ != nullptr ? many_ : &one_; }
  [[nodiscard]] constexpr const Sge* end() const { return begin() + size_; }

 private:
  Sge one_ = {};
  const Sge* many_ = nullptr;  // null: one_ is the list
  size_t size_ = 0;
};

// Memory of the peer.
struct RemoteAddress {
  uint64_t address = 0;
  Key key = {};  // R_Key

  friend bool operator==(const RemoteAddress&, const RemoteAddress&) = default;
};

// The destination of a datagram.
struct Datagram {
  AddressHandleId handle = {};
  QpNumber qp = {};
  QKey q_key = {};

  friend bool operator==(const Datagram&, const Datagram&) = default;
};

struct SendFlags {
  bool signaled = true;  // it completes; a request that fails completes in any case
  bool solicited = false;
  bool fence = false;    // waits for the reads and atomics posted before
  bool inlined = false;  // the bytes are copied by the post, and need no key

  friend bool operator==(const SendFlags&, const SendFlags&) = default;
};

// --- Requests for a send queue, by QueuePair::Post. ---
//
// `xrc_srq` is used on a queue pair of type kXrcSend: the number of the peer's shared receive queue
// for the message. The keys belong to its protection domain.

struct Send {
  WrId id = {};
  SgeList data = {};
  SendFlags flags = {};
  std::optional<Immediate> immediate = {};
  std::optional<Key> invalidate = {};  // a key of the peer; not together with `immediate`
  std::optional<Datagram> to = {};     // required on a queue pair of type UD, refused on others
  SrqNumber xrc_srq = {};
};

struct Write {
  WrId id = {};
  SgeList data = {};
  RemoteAddress remote = {};
  SendFlags flags = {};
  std::optional<Immediate> immediate = {};  // takes a receive request of the peer
  SrqNumber xrc_srq = {};
};

struct Read {
  WrId id = {};
  SgeList data = {};  // the destination
  RemoteAddress remote = {};
  SendFlags flags = {};
  SrqNumber xrc_srq = {};
};

// The atomics operate on 8 aligned bytes of the peer, and store the previous value in `result`.
struct CompareSwap {
  WrId id = {};
  SgeList result = {};
  RemoteAddress remote = {};
  uint64_t compare = 0;
  uint64_t swap = 0;
  SendFlags flags = {};
  SrqNumber xrc_srq = {};
};

struct FetchAdd {
  WrId id = {};
  SgeList result = {};
  RemoteAddress remote = {};
  uint64_t add = 0;
  SendFlags flags = {};
  SrqNumber xrc_srq = {};
};

// Writes 8 aligned bytes atomically.
struct AtomicWrite {
  WrId id = {};
  SgeList data = {};
  RemoteAddress remote = {};
  SendFlags flags = {};
};

enum class FlushLevel : uint8_t { kRange, kRegion };

// Completes when earlier writes are visible, or persistent, at the peer. (IBA A19)
struct Flush {
  WrId id = {};
  RemoteAddress remote = {};
  uint32_t length = 0;
  bool global_visibility = false;
  bool persistence = false;
  FlushLevel level = FlushLevel::kRange;
  SendFlags flags = {};
};

// Binds a window to bytes of a region. `r_key` becomes the key of the window: it has the window's
// index and a variant that the program chooses, for example NextKey(window). For a type 2 window it
// may be the present key. A length of 0 unbinds a type 1 window.
struct Bind {
  WrId id = {};
  Key window = {};        // its present key...
  bool by_index = false;  // ...or any that it has had
  Key r_key = {};
  Key region = {};  // L_Key of a region that allows windows
  uint64_t start = 0;
  uint64_t length = 0;
  Access access = Access::kNone;  // remote rights
  bool zero_based = false;
  bool one_touch = false;  // invalid after the first message that uses it
  SendFlags flags = {};
};

// Invalidates the binding of a window, or a registration by work request.
struct Invalidate {
  WrId id = {};
  Key key = {};
  SendFlags flags = {};
};

// What a reserved region grants. `key` is its own key the first time, and NextKey of the last one
// each time after it was invalidated.
struct Registration {
  Key key = {};
  std::span<const uint64_t> pages = {};  // addresses in this process; copied by the post
  uint8_t page_shift = 12;
  uint64_t first_offset = 0;  // offset of the first byte in the first page
  uint64_t start = 0;
  uint64_t length = 0;
  Access access = Access::kNone;
  bool zero_based = false;
  bool one_touch = false;
};

struct Register {
  WrId id = {};
  Registration registration = {};
  SendFlags flags = {};
};

// Registers memory, and sends a message whose receiver may use the key, in one request.
struct RegisterAndSend {
  WrId id = {};
  Registration registration = {};
  SgeList data = {};
  SendFlags flags = {};
};

// Requests posted after it start this much later.
struct Delay {
  WrId id = {};
  std::chrono::nanoseconds duration = {};
  SendFlags flags = {};
};

// Any of them, for QueuePair::PostChain.
using SendRequest = std::variant<Send, Write, Read, CompareSwap, FetchAdd, AtomicWrite, Flush, Bind,
                                 Invalidate, Register, RegisterAndSend, Delay>;

// --- Requests for a receive queue. ---

struct Receive {
  WrId id = {};
  SgeList data = {};
  // On a queue pair of type kStream: completes when its buffers are full or the peer has ended its
  // direction, and not already with what has arrived. Of no effect on other types.
  bool fills = false;
};

// An operation on the tagged receives of a tag matching queue. A receive matches messages for which
// (tag & mask) equals its tag; if several match, the oldest is used.
//
// A message with a tag that matches no receive is unexpected, and takes an untagged receive. A
// receive that is added before the program has seen all unexpected messages is not used yet,
// because messages would overtake each other: `seen` is the total number of unexpected messages
// that the program has seen.
struct TagOperation {
  enum class Kind : uint8_t { kAdd, kRemove, kSynchronize };

  Kind kind = Kind::kAdd;
  WrId id = {};           // of the operation itself
  bool signaled = false;  // has a completion
  std::optional<uint32_t> seen = {};
  TagHandle handle = {};  // kRemove: the result of kAdd
  // For kAdd.
  WrId receive_id = {};
  uint64_t tag = 0;
  uint64_t mask = 0;
  SgeList data = {};
};

}  // namespace verbena
