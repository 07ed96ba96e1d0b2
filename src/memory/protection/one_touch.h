#pragma once

#include <cstdint>

#include "verbena/serial_number.h"

namespace verbena::memory {

// Position of a byte in the stream that carries messages to a queue pair (TCP's sequence number; a
// packet-based transport numbers its packets instead).
using StreamNumber = SerialNumber<struct StreamNumberTag, 32>;

// The segment at hand: does it end a message, and where in the stream is its last byte?
struct StreamSegment {
  bool ends_message = false;
  StreamNumber last_byte;
};

// The stream once the segment was taken in: everything before next_expected has arrived, and
// nothing at or beyond next_expected + window is acceptable.
struct StreamPosition {
  StreamNumber next_expected;
  uint32_t window = 0;
};

// How often a key may still be used: for one message only if it is a one-touch key, and for no
// other once it is touched.
enum class KeyUse : uint8_t { kMany, kOnce, kSpent };

enum class TouchAction : uint8_t {
  kPlace,                   // ordinary entry, or not the end of a message yet
  kPlaceAndInvalidate,      // the first message is complete: the key dies with it
  kPlaceAndRemember,        // it ended out of order: the key dies when the stream catches up
  kDrop,                    // not acceptable now; the sender sends it again
  kInvalidateAndTerminate,  // a second message on a key that allows one
};

// What a segment does to a one-touch entry: the decision table of row B9. (A5 is its simplest row:
// on an in-order transport the first message to end ends the key.)
//
//   ends message  one-touch  touched  last byte            action
//   no            -          -        -                    place
//   yes           no         -        -                    place
//   yes           yes        yes      -                    invalidate, terminate
//   yes           yes        no       next expected - 1    place, invalidate
//   yes           yes        no       in the window        place, remember, touched
//   yes           yes        no       outside              drop
//
// A last byte that the stream has passed already is outside: the sender repeats itself.
constexpr TouchAction DecideTouch(const StreamSegment& segment, bool one_touch, bool touched,
                                  const StreamPosition& stream) {
  if (!segment.ends_message || !one_touch) return TouchAction::kPlace;
  if (touched) return TouchAction::kInvalidateAndTerminate;
  const uint32_t ahead = (segment.last_byte - stream.next_expected.value()).value();
  if (ahead == UINT32_MAX) return TouchAction::kPlaceAndInvalidate;
  return ahead < stream.window ? TouchAction::kPlaceAndRemember : TouchAction::kDrop;
}

// True when the stream has delivered the byte at `stored`, so that a remembered entry dies.
constexpr bool HasCaughtUp(StreamNumber stored, StreamNumber next_expected) {
  return IsBefore(stored, next_expected);
}

}  // namespace verbena::memory
