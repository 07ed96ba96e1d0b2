#pragma once

#include <cstdint>

#include "verbena/serial_number.h"

namespace verbena::memory {

// The position of a byte in the stream of messages to a queue pair: TCP's sequence number, or a
// packet number in packet-based transports.
using StreamNumber = SerialNumber<struct StreamNumberTag, 32>;

// A segment: whether it ends a message, and the position of its last byte in the stream.
struct StreamSegment {
  bool ends_message = false;
  StreamNumber last_byte;
};

// The stream after the segment: all bytes before next_expected have arrived, and bytes at or beyond
// next_expected + window are not acceptable.
struct StreamPosition {
  StreamNumber next_expected;
  uint32_t window = 0;
};

// For how many messages a key may still be used: one for a one-touch key, none once it is touched.
enum class KeyUse : uint8_t { kMany, kOnce, kSpent };

enum class TouchAction : uint8_t {
  kPlace,                   // ordinary entry, or not the end of a message yet
  kPlaceAndInvalidate,      // the first message is complete: the key ends with it
  kPlaceAndRemember,        // it ended out of order: the key ends when the stream catches up
  kDrop,                    // not acceptable; the sender retransmits it
  kInvalidateAndTerminate,  // a second message on a key that allows one
};

// The effect of a segment on a one-touch entry: the decision table of row B9. (Row A5 is its
// simplest case: on an in-order transport the first complete message ends the key.)
//
//   ends message  one-touch  touched  last byte            action
//   no            -          -        -                    place
//   yes           no         -        -                    place
//   yes           yes        yes      -                    invalidate, terminate
//   yes           yes        no       next expected - 1    place, invalidate
//   yes           yes        no       in the window        place, remember, touched
//   yes           yes        no       outside              drop
//
// A last byte that the stream has passed is outside: it is a retransmission.
constexpr TouchAction DecideTouch(const StreamSegment& segment, bool one_touch, bool touched,
                                  const StreamPosition& stream) {
  if (!segment.ends_message || !one_touch) return TouchAction::kPlace;
  if (touched) return TouchAction::kInvalidateAndTerminate;
  const uint32_t ahead = (segment.last_byte - stream.next_expected.value()).value();
  if (ahead == UINT32_MAX) return TouchAction::kPlaceAndInvalidate;
  return ahead < stream.window ? TouchAction::kPlaceAndRemember : TouchAction::kDrop;
}

// True if the stream has delivered the byte at `stored`, so that a recorded entry ends.
constexpr bool HasCaughtUp(StreamNumber stored, StreamNumber next_expected) {
  return IsBefore(stored, next_expected);
}

}  // namespace verbena::memory
