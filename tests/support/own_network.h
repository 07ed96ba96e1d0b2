#pragma once

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fabric/address.h"
#include "fabric/file_descriptor.h"
#include "fabric/socket_address.h"

namespace verbena::fabric {

// The interface of a network namespace that only the test uses. Read returns the packets that the
// machine sends on the interface, as they would be on the wire; the machine receives the packets
// that are passed to Write. The test plays the rest of the network.
//
// Only for the thread that made the namespace; see RunInOwnNetwork.
class OwnNetwork {
 public:
  enum class Layer : short { kIp = IFF_TUN, kEthernet = IFF_TAP };

  static constexpr IpAddress kIpv4 = IpAddress::FromIpv4(10, 9, 0, 1);
  static constexpr IpAddress kIpv4Peer = IpAddress::FromIpv4(10, 9, 0, 2);
  static constexpr IpAddress kIpv6 = {{0xFD, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  static constexpr IpAddress kIpv6Peer = {{0xFD, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
  static constexpr uint32_t kMtu = 1500;

  using Packet = std::vector<std::byte>;

  // Read returns packets of this layer. There is no IPv6 on Ethernet: the kernel would run
  // duplicate address detection first, which takes a second.
  explicit OwnNetwork(Layer layer)
      : tun_(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)),
        ipv4_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
        ipv6_(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    ifreq request = Named(kName);
    request.ifr_flags = static_cast<short>(static_cast<short>(layer) | IFF_NO_PI);
    Do(tun_, TUNSETIFF, &request, "TUNSETIFF");
    BringUp("lo");
    SetIpv4(SIOCSIFADDR, kIpv4);
    SetIpv4(SIOCSIFNETMASK, IpAddress::FromIpv4(255, 255, 255, 0));
    BringUp(kName);
    if (layer == Layer::kIp) SetIpv6();
  }

  // Why the setup failed; empty if it succeeded.
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] uint32_t index() const { return if_nametoindex(kName); }
  [[nodiscard]] static const char* name() { return kName; }

  // The next packet that the machine sent; nullopt if there is none.
  [[nodiscard]] std::optional<Packet> Read() const {
    Packet packet(70'000);
    const ssize_t size = read(tun_.get(), packet.data(), packet.size());
    if (size < 0) return std::nullopt;
    packet.resize(static_cast<size_t>(size));
    return packet;
  }

  // Replaces the interface's IPv4 address.
  void GiveIpv4(const IpAddress& address) { SetIpv4(SIOCSIFADDR, address); }

  [[nodiscard]] bool Write(const Packet& packet) const {
    return write(tun_.get(), packet.data(), packet.size()) == static_cast<ssize_t>(packet.size());
  }

 private:
  static constexpr const char* kName = "own0";

  static ifreq Named(const char* name) {
    ifreq request{};
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    return request;
  }

  void Do(const FileDescriptor& file, unsigned long what, void* argument, const char* name) {
    if (error_.empty() && ioctl(file.get(), what, argument) != 0) {
      error_ = std::string(name) + ": " + std::strerror(errno);
    }
  }

  void SetIpv4(unsigned long what, const IpAddress& value) {
    ifreq request = Named(kName);
    const SocketAddress address(SocketFamily::kIpv4, {value, 0});
    std::memcpy(&request.ifr_addr, address.get(), address.size());
    Do(ipv4_, what, &request, "IPv4 address");
  }

  // The address becomes usable a moment after the ioctl: waits until bind succeeds.
  void SetIpv6() {
    struct {
      in6_addr address;
      uint32_t prefix_length;
      int index;
    } request{ToIn6Addr(kIpv6), 64, static_cast<int>(index())};
    Do(ipv6_, SIOCSIFADDR, &request, "IPv6 address");
    const SocketAddress address(SocketFamily::kDualStack, {kIpv6, 0});
    for (int tries = 0; tries < 1'000; ++tries) {
      if (bind(ipv6_.get(), address.get(), address.size()) == 0) return;
      usleep(1'000);
    }
    error_ += "the IPv6 address stays unusable";
  }

  void BringUp(const char* name) {
    ifreq request = Named(name);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    Do(ipv4_, SIOCSIFFLAGS, &request, name);
  }

  FileDescriptor tun_;
  FileDescriptor ipv4_;
  FileDescriptor ipv6_;
  std::string error_;
};

// Runs `body` in a thread with its own network namespace. Returns why that failed, or an empty
// string; only root may make a namespace.
[[nodiscard]] inline std::string RunInOwnNetwork(OwnNetwork::Layer layer,
                                                 const std::function<void(OwnNetwork&)>& body) {
  std::string error;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) != 0) {
      error = std::string("a network namespace: ") + std::strerror(errno);
      return;
    }
    OwnNetwork network(layer);
    error = network.error();
    if (error.empty()) body(network);
  }).join();
  return error;
}

// For the body of a test: skips the test, with the reason, where RunInOwnNetwork fails.
#define RUN_IN_OWN_NETWORK(layer, ...)                                                    \
  if (const std::string why_not = RunInOwnNetwork(OwnNetwork::Layer::layer, __VA_ARGS__); \
      !why_not.empty()) {                                                                 \
    GTEST_SKIP() << why_not;                                                              \
  }                                                                                       \
  static_assert(true)

}  // namespace verbena::fabric
