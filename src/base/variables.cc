#include "base/variables.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/check.h"
#include "base/log.h"

namespace verbena {
namespace {

constexpr std::string_view kPrefix = "VERBENA_";

// The names without the prefix.
constexpr std::array<std::string_view, 23> kKnown = {
    "BROKER",      "CACHE",         "DEVICE_FILES",
    "DEVICE_TREE", "GUEST",         "GUEST_MAX",
    "GUEST_MIN",   "GUEST_WEIGHT",  "LINK_LAYER",
    "LOG",         "MEMORY_BUDGET", "MEMORY_BUDGET_STRICT",
    "MPA_CRC",     "MPA_REVISION",  "ONE_TOUCH_WINDOWS",
    "PAGE_EVENTS", "PIN",           "STATS",
    "STRICT",      "SWAP",          "TRACE",
    "TRANSPORT",   "WINDOWS_ONLY"};

bool IsKnown(std::string_view name) {
  return name.starts_with(kPrefix) &&
         std::ranges::find(kKnown, name.substr(kPrefix.size())) != kKnown.end();
}

}  // namespace

std::string_view Variable(const char* name) {
  DCHECK(IsKnown(name));
  const char* const value = secure_getenv(name);
  return value != nullptr ? value : "";
}

bool IsOn(const char* name) {
  const std::string_view value = Variable(name);
  if (value == "1") return true;
  if (!value.empty() && value != "0") {
    LogOnce(std::string(name) + " must be 0 or 1, not '" + std::string(value) + "'");
  }
  return false;
}

std::string TraceVariable() {
  std::string path(Variable("VERBENA_TRACE"));
  const size_t at = path.find("%p");
  if (at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  return path;
}

std::string_view RuntimeFolderVariable() {
  const char* const value = secure_getenv("XDG_RUNTIME_DIR");
  return value != nullptr ? value : "";
}

std::vector<std::string> UnknownVariables() {
  std::vector<std::string> unknown;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(kPrefix) || IsKnown(name)) continue;
    if (secure_getenv(std::string(name).c_str()) != nullptr) unknown.emplace_back(name);
  }
  return unknown;
}

void WarnOfVariables() {
  for (const std::string& name : UnknownVariables()) {
    LogOnce(name + " is not a variable of Verbena; verbena run --help lists them");
  }
  CheckLogVariable();
  static_cast<void>(IsOn("VERBENA_STATS"));
}

}  // namespace verbena
