#pragma once

#include "verbena/error.h"

namespace verbena::verbs {

// Converts the current exception to an error, for calls of the control path: no call of
// include/verbena throws. Such a call is a function-try-block:
//
//   ErrorOr<X> X::Make(...) try {
//     ...
//   } catch (...) {
//     return Fail(verbs::Thrown());
//   }
//
// kLimit if there is no memory, also for the text of another error; kSystem if the system refuses
// to start a thread. REQUIRES: an exception is being handled. tools/check_border.py checks that
// every such call has this handler.
[[nodiscard]] Error Thrown() noexcept;

}  // namespace verbena::verbs
