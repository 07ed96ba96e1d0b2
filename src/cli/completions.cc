#include "cli/completions.h"

#include <string>

namespace verbena::cli {
namespace {

// Advice for errors that the user can fix.
std::string AdviceFor(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kRetryExceeded:
      return "; the other end does not answer: check that it still runs, and that no firewall "
             "blocks "
             "UDP ports 4791 and 61001 to 65095";
    case CompletionStatus::kRnrRetryExceeded:
      return "; the other end posts no receive requests";
    case CompletionStatus::kRemoteAccessError:
      return "; the other end does not allow this access to its memory";
    default:  // the name of the status is enough
      return "";
  }
}

}  // namespace

Error InWords(const Completion& completion) {
  return {.code = ErrorCode::kSystem,
          .text = std::string("a work request failed: ") + NameOf(completion.status) +
                  AdviceFor(completion.status)};
}

Error InWords(ErrorCode code) {
  return {.code = code, .text = std::string("the adapter refused: ") + NameOf(code)};
}

Error InWords(const PostError& error) {
  return {.code = error.code(), .text = "a work request was not posted: " + ToString(error)};
}

ErrorOr<void> InWords(const PostResult& result) {
  if (!result) return tl::unexpected(InWords(result.error()));
  return {};
}

}  // namespace verbena::cli
