#include "adapter/cm/bind_permission.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <limits>

namespace verbena::adapter {
namespace {

constexpr uint32_t kDefault = 1024;
static_assert(CAP_NET_BIND_SERVICE < 32, "it is in the first word");

bool HasNetBindService() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return geteuid() == 0;
  return (sets[0].effective & 1U << CAP_NET_BIND_SERVICE) != 0;
}

}  // namespace

uint16_t FirstUnprivilegedPort() {
  std::ifstream file("/proc/sys/net/ipv4/ip_unprivileged_port_start");
  uint32_t first = 0;
  if (!(file >> first) || first > std::numeric_limits<uint16_t>::max()) return kDefault;
  return static_cast<uint16_t>(first);
}

bool MayBindPort(uint16_t port) { return port >= FirstUnprivilegedPort() || HasNetBindService(); }

}  // namespace verbena::adapter
