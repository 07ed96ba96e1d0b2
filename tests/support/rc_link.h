#pragma once

#include <cstddef>
#include <span>

#include "base/time.h"
#include "tests/support/rc_node.h"
#include "wire/roce/packet.h"

namespace verbena::scenario {

// A packet in flight. The link decides what happens to it, and may change its bytes.
struct Passing {
  const RcEnd& from;
  const RcEnd& to;
  wire::Packet packet;
  std::span<std::byte> bytes;

  [[nodiscard]] bool Is(wire::Operation operation) const {
    return packet.info().operation == operation;
  }
  [[nodiscard]] bool is_request() const { return packet.info().is_request; }
};

// What a link does with a packet.
struct LinkAction {
  static LinkAction Pass() { return {}; }
  static LinkAction Drop() { return {.copies = 0}; }
  static LinkAction Late(Duration late) { return {.late = late}; }
  // The second copy arrives `apart` after the first.
  static LinkAction Twice(Duration apart = Nanoseconds(1)) { return {.copies = 2, .apart = apart}; }
  // The link holds the packet until ReleaseHeld.
  static LinkAction Hold() { return {.is_held = true}; }

  int copies = 1;
  Duration late = {};
  Duration apart = {};
  bool is_held = false;
};

// What happens to a page request.
struct PageAction {
  static PageAction Hold() { return {.is_held = true}; }

  Duration after = Microseconds(100);
  bool available = true;
  bool is_held = false;  // until AnswerHeld
};

}  // namespace verbena::scenario
