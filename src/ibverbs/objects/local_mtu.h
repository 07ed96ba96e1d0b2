#pragma once

#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

// The MTU of a connection over this path for a program that asks for `asked`.
//
// A port has one active MTU for all its paths, and programs take that. It is right for the network,
// and too small within the machine, where packets four times as long fit: most of the time of a
// long message is a matter of how many packets it has. So a program that asks for the port's
// active MTU, which is as much as it can know of, gets what the path carries if that ends in this
// machine. Both ends find the same, because both ask with the same addresses, port and MTU. One
// that asks for less has its reasons, and in strict mode the peer may be any implementation.
[[nodiscard]] PathMtu LocalMtu(Context& context, const AddressVector& path, PathMtu asked);

// The same, with what it depends on as arguments.
struct MtuQuestion {
  PathMtu asked;
  PathMtu active;   // of the port
  PathMtu largest;  // that the path carries
  bool is_local;    // it ends in this machine
  bool strict;
};
[[nodiscard]] constexpr PathMtu Granted(const MtuQuestion& question) {
  const bool asks_for_all = question.asked == question.active;
  const bool raise = question.is_local && !question.strict && asks_for_all;
  return raise && question.largest > question.asked ? question.largest : question.asked;
}

}  // namespace verbena::ibverbs
