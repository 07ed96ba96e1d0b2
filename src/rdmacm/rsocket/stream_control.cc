// Options and mapped buffers of a StreamSocket.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "rdmacm/rsocket/stream_socket.h"

namespace verbena::rsockets {
namespace {

constexpr int kMaxSegmentUnknown = 2048;

// A path record in the form of RDMA_ROUTE.
ibv_path_data ToPathData(const ibv_sa_path_rec& record) {
  constexpr uint8_t kExactly = 2 << 6;
  ibv_path_data data{};
  data.flags = record.preference;
  data.path.dgid = record.dgid;
  data.path.sgid = record.sgid;
  data.path.dlid = record.dlid;
  data.path.slid = record.slid;
  data.path.flowlabel_hoplimit = htonl(ntohl(record.flow_label) << 8 | record.hop_limit);
  data.path.tclass = record.traffic_class;
  data.path.reversible_numpath = static_cast<uint8_t>(record.reversible << 7 | 1);
  data.path.pkey = record.pkey;
  data.path.qosclass_sl = htons(record.sl);
  data.path.mtu = static_cast<uint8_t>(record.mtu | kExactly);
  data.path.rate = static_cast<uint8_t>(record.rate | kExactly);
  data.path.packetlifetime = static_cast<uint8_t>(record.packet_life_time | kExactly);
  return data;
}

ErrnoOr<socklen_t> PutRoute(const rdma_route& route, std::span<std::byte> value) {
  if (value.size() < sizeof(ibv_path_data)) return Fail(Errno{EINVAL});
  std::size_t size = 0;
  for (int i = 0; i < route.num_paths && size + sizeof(ibv_path_data) <= value.size(); ++i) {
    const ibv_path_data data = ToPathData(route.path_rec[i]);
    std::memcpy(&value[size], &data, sizeof data);
    size += sizeof data;
  }
  return static_cast<socklen_t>(size);
}

}  // namespace

ErrnoOr<void> StreamSocket::SetOption(int level, int name, std::span<const std::byte> value) {
  const MutexLock lock(lock_);
  const bool fixed = connection_ != nullptr || IsConnecting();
  if (const auto set = options_.Set(level, name, value, fixed); !set) return set;
  const bool is_new = phase_ == Phase::kNew;
  if (level == SOL_SOCKET && name == SO_REUSEADDR && is_new) {
    int on = options_.reuse_address ? 1 : 0;
    if (rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof on) != 0 &&
        errno != ENOSYS) {
      return Fail(LastErrno());
    }
  }
  if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY) {
    int on = options_.ipv6_only ? 1 : 0;
    if (rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof on) != 0) {
      return Fail(LastErrno());
    }
  }
  if (name == SO_KEEPALIVE || name == TCP_KEEPIDLE) SetKeepaliveTimer();
  return {};
}

ErrnoOr<socklen_t> StreamSocket::GetOption(int level, int name, std::span<std::byte> value) {
  const MutexLock lock(lock_);
  if (level == SOL_SOCKET && name == SO_ERROR) {
    if (phase_ == Phase::kConnected) {
      Advance(/*arm=*/false);
      return PutInt(connection_->TakeError(), value);
    }
    return PutInt(std::exchange(error_, 0), value);
  }
  if (level == SOL_SOCKET && name == SO_ACCEPTCONN) {
    return PutInt(phase_ == Phase::kListening ? 1 : 0, value);
  }
  if (level == SOL_SOCKET && name == SO_DOMAIN) return PutInt(family_, value);
  const rdma_route& route = id_->route;
  if (level == IPPROTO_TCP && name == TCP_MAXSEG) {
    return PutInt(route.num_paths > 0 ? 1 << (7 + route.path_rec->mtu) : kMaxSegmentUnknown, value);
  }
  if (level == SOL_RDMA && name == RDMA_ROUTE) return PutRoute(route, value);
  return options_.Get(level, name, value);
}

ErrnoOr<off_t> StreamSocket::Map(void* buffer, std::size_t length, int protection, off_t offset) {
  const MutexLock lock(lock_);
  if (phase_ != Phase::kConnected) return Fail(Errno{ENOTCONN});
  if ((protection & ~PROT_WRITE) != 0) return Fail(Errno{EINVAL});
  const auto named = offset == -1 ? std::nullopt : std::optional(static_cast<uint64_t>(offset));
  const auto mapped = connection_->iomaps().Map(connection_->endpoint().pd(), buffer, length,
                                                (protection & PROT_WRITE) != 0, named);
  if (!mapped) return Fail(mapped.error());
  connection_->SendIomaps();  // announcements that must wait are sent before the next data
  return static_cast<off_t>(*mapped);
}

ErrnoOr<void> StreamSocket::Unmap(void* buffer, std::size_t length) {
  const MutexLock lock(lock_);
  if (phase_ != Phase::kConnected) return Fail(Errno{ENOTCONN});
  return connection_->iomaps().Unmap(buffer, length);
}

}  // namespace verbena::rsockets
