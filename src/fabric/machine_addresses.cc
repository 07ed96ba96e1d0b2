#include "fabric/machine_addresses.h"

#include <sys/socket.h>

#include "fabric/file_descriptor.h"
#include "fabric/socket_address.h"

namespace verbena::fabric {

bool SystemAddresses::Has(const IpAddress& address) const {
  const bool ipv4 = address.is_ipv4();
  const FileDescriptor asker(socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  constexpr uint16_t kAnyPort = 0;
  const SocketAddress here(ipv4 ? SocketFamily::kIpv4 : SocketFamily::kDualStack,
                           {address, kAnyPort});
  return asker.is_open() && bind(asker.get(), here.get(), here.size()) == 0;
}

}  // namespace verbena::fabric
