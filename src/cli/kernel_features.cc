#include "cli/kernel_features.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "cli/rendezvous.h"

namespace verbena::cli {
namespace {

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

// The size of the socket buffers that the adapter asks for.
constexpr uint64_t kBufferWanted = uint64_t{4} << 20;

bool HasSocketOption(int option) {
  const File socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int value = 1;
  return setsockopt(socket.get(), IPPROTO_UDP, option, &value, sizeof(value)) == 0;
}

bool HasIpv6() { return File(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)).get() >= 0; }

bool HasPopulate() {
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const bool has = madvise(page, size, MADV_POPULATE_READ) == 0;
  munmap(page, size);
  return has;
}

bool HasUserfaultfd() {
  constexpr long kFlags = O_CLOEXEC | UFFD_USER_MODE_ONLY;
  return File(static_cast<int>(syscall(SYS_userfaultfd, kFlags))).get() >= 0;
}

// True if the file cannot be read.
bool IsBufferLargeEnough(const char* limit) {
  std::ifstream file(limit);
  uint64_t bytes = kBufferWanted;
  file >> bytes;
  return bytes >= kBufferWanted;
}

KernelFeature Buffer(const char* name, const char* key, const char* limit) {
  return {name, IsBufferLargeEnough(limit),
          std::string("4 MiB each; if they are smaller, bursts get lost. To raise them: sysctl -w "
                      "net.core.") +
              key + "=4194304"};
}

}  // namespace

std::vector<KernelFeature> ProbeKernel() {
  return {
      {"UDP segmentation", HasSocketOption(UDP_SEGMENT),
       "sends many packets in one system call; without it each packet passes through the kernel by "
       "itself"},
      {"UDP receive offload", HasSocketOption(UDP_GRO), "the same for received packets"},
      {"IPv6", HasIpv6(), "without it, all GIDs are IPv4 addresses"},
      {"page populate", HasPopulate(),
       "pages of a range are paged in by one call (Linux 5.14); without it, one by one"},
      {"userfaultfd", HasUserfaultfd(),
       "notices accesses to managed memory, and reports pages that a program gives up if "
       "Options::page_events is on; without it managed memory works by signals, more slowly"},
      Buffer("receive buffers", "rmem_max", "/proc/sys/net/core/rmem_max"),
      Buffer("send buffers", "wmem_max", "/proc/sys/net/core/wmem_max"),
  };
}

}  // namespace verbena::cli
