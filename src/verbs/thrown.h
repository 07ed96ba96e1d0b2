#pragma once

#include "verbena/error.h"

namespace verbena::verbs {

// What the handler of a call of the control path makes of an exception: no call of include/verbena
// throws. Such a call is a function-try-block:
//
//   ErrorOr<X> X::Make(...) try {
//     ...
//   } catch (...) {
//     return Fail(verbs::Thrown());
//   }
//
// kLimit if memory ran out, kSystem if the system refused a thread. Allocates nothing if that
// fails. REQUIRES: an exception is being handled. tools/check_border.py looks for it.
[[nodiscard]] Error Thrown() noexcept;

}  // namespace verbena::verbs
