#pragma once

#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

// The MTU of a connection over this path for a program that asks for `asked`.
//
// A port has one active MTU for all its paths, and programs use that. It is right for the network
// but too small within the machine, where packets four times as long fit, and the time of a long
// message depends mostly on its number of packets. So a program that asks for the active MTU, the
// largest it can know of, gets the largest MTU of the path if the path ends in this machine. Both
// ends compute the same, because both ask with the same addresses, port and MTU. A program that
// asks for less has its reasons, and gets that. In strict mode the MTU is never raised: the peer
// can be any implementation.
[[nodiscard]] PathMtu LocalMtu(Context& context, const AddressVector& path, PathMtu asked);

// The same decision as a pure function of its inputs.
struct MtuQuestion {
  PathMtu asked;
  PathMtu active;   // of the port
  PathMtu largest;  // that the path carries
  bool is_local;    // the path ends in this machine
  bool strict;
};
[[nodiscard]] constexpr PathMtu Granted(const MtuQuestion& question) {
  const bool asks_for_all = question.asked == question.active;
  const bool raise = question.is_local && !question.strict && asks_for_all;
  return raise && question.largest > question.asked ? question.largest : question.asked;
}

}  // namespace verbena::ibverbs
