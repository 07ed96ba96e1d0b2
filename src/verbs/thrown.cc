#include "verbs/thrown.h"

#include <new>
#include <string>
#include <system_error>

namespace verbena::verbs {
namespace {

// The text is short enough for the string object itself, so it is not allocated.
Error OutOfMemory() { return {ErrorCode::kLimit, "out of memory"}; }

Error Refused(const std::system_error& by) noexcept try {
  return {ErrorCode::kSystem, std::string("the system starts no more threads: ") + by.what(),
          by.code().value()};
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

}  // namespace

// Any other exception is a bug in Verbena; noexcept ends the process here.
Error Thrown() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::system_error& by) {
    return Refused(by);
  }
}

}  // namespace verbena::verbs
