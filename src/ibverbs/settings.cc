#include "ibverbs/settings.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "ibverbs/log.h"

namespace verbena::ibverbs {
namespace {

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool IsOn(const char* name) {
  const std::string_view value = Variable(name);
  if (value == "1") return true;
  if (!value.empty() && value != "0") {
    LogOnce(std::string(name) + " is 0 or 1, and not '" + std::string(value) + "'");
  }
  return false;
}

// A program and its children may each have a file: %p stands for the process.
std::string WithProcess(std::string path) {
  const size_t at = path.find("%p");
  if (at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  return path;
}

Look LookOf(std::string_view value) {
  if (value == "ib") return Look::kInfiniband;
  if (!value.empty() && value != "roce") {
    LogOnce("VERBENA_DEVICE_LOOK is roce or ib, and not '" + std::string(value) + "'");
  }
  return Look::kRoce;
}

}  // namespace

Settings Settings::FromEnvironment() {
  return {.look = LookOf(Variable("VERBENA_DEVICE_LOOK")),
          .trace = WithProcess(std::string(Variable("VERBENA_TRACE"))),
          .stats = IsOn("VERBENA_STATS"),
          .strict = IsOn("VERBENA_STRICT"),
          .pin = IsOn("VERBENA_PIN"),
          .page_events = IsOn("VERBENA_PAGE_EVENTS")};
}

Options Settings::ToOptions() const {
  Options options;
  options.strict = strict;
  options.pin = pin;
  options.page_events = page_events;
  options.trace = trace;
  return options;
}

}  // namespace verbena::ibverbs
