// Names of machines and services to addresses.

#include <netdb.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "rdmacm/failure.h"
#include "rdmacm/objects/address.h"
#include "verbena/connection_manager.h"

namespace verbena::rdmacm {
namespace {

constexpr sa_family_t kFamilyIb = 27;  // AF_IB, for InfiniBand addresses: not supported

struct FreeInfo {
  void operator()(rdma_addrinfo* info) const { rdma_freeaddrinfo(info); }
};
using OwnedInfo = std::unique_ptr<rdma_addrinfo, FreeInfo>;

// Everything that rdma_freeaddrinfo frees is from malloc, because programs may replace members.
void* Copy(const void* from, size_t size) {
  void* const copy = std::malloc(size);
  if (copy == nullptr) throw std::bad_alloc();
  return std::memcpy(copy, from, size);
}

void SetAddress(sockaddr*& address, socklen_t& length, const sockaddr* from, socklen_t size) {
  if (from == nullptr || size == 0) return;
  address = static_cast<sockaddr*>(Copy(from, size));
  length = size;
}

addrinfo ToSystem(const rdma_addrinfo& hints) {
  addrinfo system{};
  if ((hints.ai_flags & RAI_PASSIVE) != 0) system.ai_flags |= AI_PASSIVE;
  if ((hints.ai_flags & RAI_NUMERICHOST) != 0) system.ai_flags |= AI_NUMERICHOST;
  system.ai_family = hints.ai_family;
  if (hints.ai_qp_type == IBV_QPT_UD) {
    system.ai_socktype = SOCK_DGRAM;
  } else if (hints.ai_qp_type != 0) {
    system.ai_socktype = SOCK_STREAM;
  }
  const bool is_datagram = hints.ai_port_space == RDMA_PS_UDP ||
                           hints.ai_port_space == RDMA_PS_IPOIB ||
                           (hints.ai_port_space == RDMA_PS_IB && system.ai_socktype == SOCK_DGRAM);
  const bool is_stream = hints.ai_port_space == RDMA_PS_TCP ||
                         (hints.ai_port_space == RDMA_PS_IB && system.ai_socktype == SOCK_STREAM);
  if (is_datagram) system.ai_protocol = IPPROTO_UDP;
  if (is_stream) system.ai_protocol = IPPROTO_TCP;
  return system;
}

// Uses the first answer of the system.
void Fill(rdma_addrinfo& info, const rdma_addrinfo& hints, const addrinfo& answer) {
  info.ai_family = answer.ai_family;
  info.ai_qp_type = hints.ai_qp_type;
  if (info.ai_qp_type == 0) {
    info.ai_qp_type = answer.ai_socktype == SOCK_DGRAM ? IBV_QPT_UD : IBV_QPT_RC;
  }
  info.ai_port_space = hints.ai_port_space;
  if (info.ai_port_space == 0) {
    info.ai_port_space = answer.ai_protocol == IPPROTO_UDP ? RDMA_PS_UDP : RDMA_PS_TCP;
  }
  if ((hints.ai_flags & RAI_PASSIVE) != 0) {
    info.ai_flags = RAI_PASSIVE;
    SetAddress(info.ai_src_addr, info.ai_src_len, answer.ai_addr, answer.ai_addrlen);
  } else {
    SetAddress(info.ai_dst_addr, info.ai_dst_len, answer.ai_addr, answer.ai_addrlen);
  }
}

// Without a node name, the addresses of the hints are the result.
void FillFromHints(rdma_addrinfo& info, const rdma_addrinfo& hints) {
  info.ai_flags = hints.ai_flags;
  info.ai_family = hints.ai_family;
  info.ai_qp_type = hints.ai_qp_type;
  info.ai_port_space = hints.ai_port_space;
  SetAddress(info.ai_dst_addr, info.ai_dst_len, hints.ai_dst_addr, hints.ai_dst_len);
}

// Sets the source address of the route to the destination, with port 0, if there is a route.
void FillSource(rdma_addrinfo& info) {
  if (LengthOf(info.ai_dst_addr) == 0) return;
  const CmAddress destination = FromSockaddr(*info.ai_dst_addr);
  if (IsWildcard(destination.ip)) return;
  const auto source = SourceAddressFor(destination);
  if (!source) return;
  sockaddr_storage stored{};
  Store({.ip = *source, .interface = source->is_link_local() ? destination.interface : 0}, stored);
  const auto* const address = reinterpret_cast<const sockaddr*>(&stored);
  SetAddress(info.ai_src_addr, info.ai_src_len, address, LengthOf(address));
}

// 0, or an error of getaddrinfo.
int Ask(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo& info) {
  constexpr rdma_addrinfo kNoHints{};
  if (hints != nullptr && hints->ai_family == kFamilyIb) return EAI_FAMILY;
  const addrinfo system = hints != nullptr ? ToSystem(*hints) : addrinfo{};
  addrinfo* answers = nullptr;
  const int error = getaddrinfo(node, service, hints != nullptr ? &system : nullptr, &answers);
  if (error != 0) return error;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(answers, freeaddrinfo);
  Fill(info, hints != nullptr ? *hints : kNoHints, *answers);
  return 0;
}

}  // namespace
}  // namespace verbena::rdmacm

using namespace verbena::rdmacm;  // NOLINT(google-build-using-namespace): the calls are global

int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                     rdma_addrinfo** result) try {
  if (result == nullptr || (node == nullptr && service == nullptr && hints == nullptr)) {
    return MinusOne(EINVAL);
  }
  OwnedInfo info(static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo))));
  if (info == nullptr) return MinusOne(ENOMEM);
  if (node != nullptr || service != nullptr) {
    if (const int error = Ask(node, service, hints, *info); error != 0) return error;
  } else {
    FillFromHints(*info, *hints);
  }
  if (hints != nullptr && info->ai_src_len == 0) {
    SetAddress(info->ai_src_addr, info->ai_src_len, hints->ai_src_addr, hints->ai_src_len);
  }
  const bool no_route = hints != nullptr && (hints->ai_flags & RAI_NOROUTE) != 0;
  if (info->ai_src_len == 0 && !no_route) FillSource(*info);
  *result = info.release();
  return 0;
} catch (...) {
  return MinusOne(Thrown("rdma_getaddrinfo"));
}

void rdma_freeaddrinfo(rdma_addrinfo* info) {
  while (info != nullptr) {
    rdma_addrinfo* const next = info->ai_next;
    std::free(info->ai_connect);
    std::free(info->ai_route);
    std::free(info->ai_src_canonname);
    std::free(info->ai_dst_canonname);
    std::free(info->ai_src_addr);
    std::free(info->ai_dst_addr);
    std::free(info);
    info = next;
  }
}
