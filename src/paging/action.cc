#include "paging/action.h"

#include "base/check.h"

namespace verbena::paging {

namespace {

const char* NameOf(Verb verb) {
  switch (verb) {
    case Verb::kUnmap:
      return "unmap";
    case Verb::kWrite:
      return "write";
    case Verb::kRead:
      return "read";
    case Verb::kDrop:
      return "drop";
    case Verb::kMakeZero:
      return "make zero";
    case Verb::kMap:
      return "map";
    case Verb::kForget:
      return "forget";
    case Verb::kReady:
      return "ready";
    case Verb::kRefused:
      return "refused";
    case Verb::kSwappedOut:
      return "swapped out";
    case Verb::kReport:
      return "report";
  }
  UNREACHABLE();
}

const char* NameOf(StoreReport report) {
  switch (report) {
    case StoreReport::kFull:
      return " store full";
    case StoreReport::kFailing:
      return " store failing";
    case StoreReport::kWell:
      return " store well";
  }
  UNREACHABLE();
}

std::string ToString(Run run) {
  return " " + std::to_string(run.first) +
         (run.count == 1 ? "" : "+" + std::to_string(run.count - 1));
}

const char* NameOf(View view) { return view == View::kCpu ? " cpu" : " adapter"; }

}  // namespace

std::string ToString(const Action& action) {
  const std::string verb = NameOf(action.verb);
  const std::string ticket = " #" + std::to_string(action.ticket.value());
  switch (action.verb) {
    case Verb::kUnmap:
      return verb + ToString(action.run) + NameOf(action.view);
    case Verb::kMap:
      return verb + ToString(action.run) + NameOf(action.view) +
             (action.is_writable ? " writable" : "");
    case Verb::kReady:
    case Verb::kSwappedOut:
      return verb + ticket + ToString(action.run);
    case Verb::kRefused:
      return verb + ticket + (action.error == RequestError::kBroken ? " broken" : " limit");
    case Verb::kReport:
      return verb + NameOf(action.report);
    case Verb::kWrite:
    case Verb::kRead:
    case Verb::kDrop:
    case Verb::kMakeZero:
    case Verb::kForget:
      return verb + ToString(action.run);
  }
  UNREACHABLE();
}

}  // namespace verbena::paging
