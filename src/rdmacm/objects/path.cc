#include "rdmacm/objects/path.h"

#include <arpa/inet.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "base/result.h"
#include "rdmacm/objects/address.h"

namespace verbena::rdmacm {
namespace {

constexpr uint16_t kDefaultPartition = 0xFFFF;
constexpr uint8_t kHopLimit = 64;

}  // namespace

CmAddress LocalOf(const Id& id) {
  return LengthOf(&id.route.addr.src_addr) != 0 ? FromSockaddr(id.route.addr.src_addr)
                                                : CmAddress{};
}

CmAddress RemoteOf(const Id& id) {
  return LengthOf(&id.route.addr.dst_addr) != 0 ? FromSockaddr(id.route.addr.dst_addr)
                                                : CmAddress{};
}

void ShowLocal(Id& id, const CmAddress& local) {
  Store(local, id.route.addr.src_storage);
  id.route.addr.addr.ibaddr.sgid = IsWildcard(local.ip) ? ibv_gid{} : ToGid(local.ip);
  id.route.addr.addr.ibaddr.pkey = htons(kDefaultPartition);
}

void ShowRemote(Id& id, const CmAddress& remote) {
  Store(remote, id.route.addr.dst_storage);
  id.route.addr.addr.ibaddr.dgid = ToGid(remote.ip);
}

ErrorOr<ibv_ah_attr> AddressTo(const Id& id, const IpAddress& destination) {
  const CmAddress local = LocalOf(id);
  const auto index = id.device->GidIndexOf(local.ip, local.interface);
  if (!index) return Fail(index.error());
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = 1;
  attributes.grh.dgid = ToGid(destination);
  attributes.grh.sgid_index = *index;
  attributes.grh.hop_limit = kHopLimit;
  attributes.grh.traffic_class = id.options.type_of_service;
  return attributes;
}

PathMtu MtuOf(const Id& id) {
  const CmAddress local = LocalOf(id);
  const auto mtu = Context::LargestMtu(AddressVector{
      .source = local.ip, .destination = RemoteOf(id).ip, .interface = local.interface});
  return mtu ? *mtu : PathMtu::k1024;
}

ErrorOr<void> ShowPath(Id& id, PathMtu mtu) {
  constexpr uint8_t kExactly = 2;
  constexpr uint8_t kLifeTime = 16;  // the exponent of 4.096 us that Linux assumes for RoCE
  auto* const record = static_cast<ibv_sa_path_rec*>(std::calloc(1, sizeof(ibv_sa_path_rec)));
  if (record == nullptr) return Fail(SystemError(ENOMEM, "out of memory for a path record"));
  record->sgid = id.route.addr.addr.ibaddr.sgid;
  record->dgid = id.route.addr.addr.ibaddr.dgid;
  record->hop_limit = kHopLimit;
  record->traffic_class = id.options.type_of_service;
  record->reversible = 1;
  record->numb_path = 1;
  record->pkey = htons(kDefaultPartition);
  record->mtu_selector = record->rate_selector = record->packet_life_time_selector = kExactly;
  record->mtu = static_cast<uint8_t>(mtu);
  record->rate = IBV_RATE_100_GBPS;
  record->packet_life_time = kLifeTime;
  std::free(id.route.path_rec);
  id.route.path_rec = record;
  id.route.num_paths = 1;
  return {};
}

}  // namespace verbena::rdmacm
