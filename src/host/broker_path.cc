#include "host/broker_path.h"

#include <unistd.h>

#include "base/variables.h"

namespace verbena::host {

std::string DefaultBrokerSocket() {
  constexpr const char* kName = "/verbena/broker.sock";
  if (geteuid() == 0) return std::string("/run") + kName;
  const std::string_view runtime = RuntimeFolderVariable();
  if (runtime.starts_with('/')) return std::string(runtime) + kName;
  return "/run/user/" + std::to_string(geteuid()) + kName;
}

}  // namespace verbena::host
