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

// A scatter/gather list. One element is kept in it; several are referred to, and must be there
// until the request is posted.
class SgeList {
 public:
  constexpr SgeList() = default;
  // Implicit: an element is a list of one, and a range of them is what a list is.
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

// Whom a datagram goes to.
struct Datagram {
  AddressHandleId handle = {};
  QpNumber qp = {};
  QKey q_key = {};

  friend bool operator==(const Datagram&, const Datagram&) = default;
};

struct SendFlags {
  bool signaled = true;  // completes; one that fails does so in any case
  bool solicited = false;
  bool fence = false;    // waits for reads and atomics posted before
  bool inlined = false;  // the bytes are taken when it is posted, and need no key

  friend bool operator==(const SendFlags&, const SendFlags&) = default;
};

// --- What a send queue does. Each is taken by QueuePair::Post. ---
//
// `xrc_srq` counts on a kXrcSend queue pair: the number of the peer's shared receive queue that the
// message is for, and whose domain the keys are of.

struct Send {
  WrId id = {};
  SgeList data = {};
  SendFlags flags = {};
  std::optional<Immediate> immediate = {};
  std::optional<Key> invalidate = {};  // a key of the peer's that ends; not with `immediate`
  std::optional<Datagram> to = {};     // of a datagram queue pair, and only of one
  SrqNumber xrc_srq = {};
};

struct Write {
  WrId id = {};
  SgeList data = {};
  RemoteAddress remote = {};
  SendFlags flags = {};
  std::optional<Immediate> immediate = {};  // takes a receive request of the peer's
  SrqNumber xrc_srq = {};
};

struct Read {
  WrId id = {};
  SgeList data = {};  // where it goes
  RemoteAddress remote = {};
  SendFlags flags = {};
  SrqNumber xrc_srq = {};
};

// The atomics work on 8 aligned bytes of the peer's, and bring what was there into `result`.
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

// 8 aligned bytes at once.
struct AtomicWrite {
  WrId id = {};
  SgeList data = {};
  RemoteAddress remote = {};
  SendFlags flags = {};
};

enum class FlushLevel : uint8_t { kRange, kRegion };

// Completes when earlier writes have arrived where they can be seen, or are kept. (IBA A19)
struct Flush {
  WrId id = {};
  RemoteAddress remote = {};
  uint32_t length = 0;
  bool global_visibility = false;
  bool persistence = false;
  FlushLevel level = FlushLevel::kRange;
  SendFlags flags = {};
};

// Points a window at bytes of a region. `r_key` is the window's key from then on: its index, and an
// variant that the program chooses, such as NextKey(window). Of a type 2 window it may be the one
// that it has. No bytes unbind a type 1 window.
struct Bind {
  WrId id = {};
  Key window = {};        // its key now...
  bool by_index = false;  // ...or any that it has had
  Key r_key = {};
  Key region = {};  // L_Key of one that allows windows
  uint64_t start = 0;
  uint64_t length = 0;
  Access access = Access::kNone;  // remote ones
  bool zero_based = false;
  bool one_touch = false;  // ends with the first message that used it
  SendFlags flags = {};
};

// Ends a window's binding, or a registration by work request.
struct Invalidate {
  WrId id = {};
  Key key = {};
  SendFlags flags = {};
};

// What a reserved region is to grant. `key` is its own the first time, and NextKey of the last one
// each time after it was invalidated.
struct Registration {
  Key key = {};
  std::span<const uint64_t> pages = {};  // addresses in this process; read when it is posted
  uint8_t page_shift = 12;
  uint64_t first_offset = 0;  // of the first byte in the first page
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

// Registers, and sends a message whose receiver may use the key, in one.
struct RegisterAndSend {
  WrId id = {};
  Registration registration = {};
  SgeList data = {};
  SendFlags flags = {};
};

// What is posted behind it starts so much later.
struct Delay {
  WrId id = {};
  std::chrono::nanoseconds duration = {};
  SendFlags flags = {};
};

// Any of them, for chains: see QueuePair::PostChain.
using SendRequest = std::variant<Send, Write, Read, CompareSwap, FetchAdd, AtomicWrite, Flush, Bind,
                                 Invalidate, Register, RegisterAndSend, Delay>;

// --- What a receive queue does. ---

struct Receive {
  WrId id = {};
  SgeList data = {};
};

// What is done to the tagged receives of a tag matching queue. One receive is for the messages of
// which (tag & mask) is its tag; of several the oldest gets them.
//
// A message with a tag that no receive fits is unexpected, and takes an untagged receive. What is
// added before the program has looked at all of these serves no message yet, or messages would
// overtake each other: `seen` says how many it has looked at, all in all.
struct TagOperation {
  enum class Kind : uint8_t { kAdd, kRemove, kSynchronize };

  Kind kind = Kind::kAdd;
  WrId id = {};           // of the operation itself
  bool signaled = false;  // it has a completion
  std::optional<uint32_t> seen = {};
  TagHandle handle = {};  // kRemove: what kAdd gave
  // kAdd, all of them.
  WrId receive_id = {};
  uint64_t tag = 0;
  uint64_t mask = 0;
  SgeList data = {};
};

}  // namespace verbena
