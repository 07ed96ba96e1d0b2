// The attributes of the port, and its partition.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/result.h"
#include "ibverbs/failure.h"
#include "ibverbs/newer_verbs.h"
#include "ibverbs/objects/address_vector.h"
#include "ibverbs/objects/control_ops.h"
#include "ibverbs/objects/objects.h"
#include "ibverbs/query/lid.h"
#include "ibverbs/query/port_attributes.h"

// In verbs.h ibv_query_port is also a macro; the function is defined below.
#undef ibv_query_port

namespace verbena::ibverbs {
namespace {

// The paths of a port can have different MTUs, but it reports one. It is that of the first address
// whose interface is up, the one that programs use by default.
ibv_mtu ActiveMtu(const std::vector<GidEntry>& present) {
  if (present.empty()) return IBV_MTU_256;
  const auto up = std::ranges::find_if(present, &GidEntry::up);
  const GidEntry& entry = up != present.end() ? *up : present.front();
  return static_cast<ibv_mtu>(verbena::Context::LargestMtu(entry));
}

void FillEthernet(ibv_port_attr& out) {
  out.link_layer = IBV_LINK_LAYER_ETHERNET;
  out.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  out.flags = IBV_QPF_GRH_REQUIRED;
}

void FillInfiniband(ibv_port_attr& out, const std::vector<GidEntry>& present) {
  constexpr uint8_t kSubnetTimeout = 18;
  out.link_layer = IBV_LINK_LAYER_INFINIBAND;
  out.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_SYS_IMAGE_GUID_SUP;
  out.sm_lid = 1;
  out.subnet_timeout = kSubnetTimeout;
  if (const auto owner = LidOwner(present)) out.lid = LidOf(owner->gid);
}

// 100 Gbit/s, as 4 lanes of 25: a plausible link for programs that compute with the speed.
constexpr uint64_t kSpeed = 1'000;  // in units of 100 Mbit/s

void FillLink(ibv_port_attr& out) {
  constexpr uint8_t kFourLanes = 2;
  constexpr uint8_t kEdr = 32;
  constexpr uint8_t kLinkUp = 5;
  out.active_width = kFourLanes;
  out.active_speed = kEdr;
  out.phys_state = kLinkUp;
  out.state = IBV_PORT_ACTIVE;
  out.max_vl_num = 1;
}

}  // namespace

ibv_port_attr PortAttributes(const GidTable::Entries& entries, LinkLayer link_layer) {
  constexpr uint32_t kMessageMax = 1U << 31;
  const std::vector<GidEntry> present = GidTable::Present(entries);
  ibv_port_attr out{};
  FillLink(out);
  out.max_mtu = IBV_MTU_4096;
  out.active_mtu = ActiveMtu(present);
  out.gid_tbl_len = static_cast<int>(GidTable::ShownLength(entries));
  out.max_msg_sz = kMessageMax;
  out.pkey_tbl_len = 1;
  if (link_layer == LinkLayer::kRoce) {
    FillEthernet(out);
  } else {
    FillInfiniband(out, present);
  }
  return out;
}

// `size` differs in programs that were compiled against other headers.
int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t size) try {
  if (port != 1) return Failed("ibv_query_port", Invalid("the port number must be 1"));
  const Context& own = Cast(context);
  const auto entries = own.gids.Read();
  if (!entries) return Failed("ibv_query_port", entries.error());
  const ibv_port_attr all = PortAttributes(*entries, own.settings.link_layer);
  std::memset(attributes, 0, size);
  std::memcpy(attributes, &all, std::min(size, sizeof all));
  return 0;
} catch (...) {
  return Thrown("ibv_query_port");
}

extern "C" {
int QueryPortSpeed(ibv_context* /*context*/, uint32_t port, uint64_t* speed) try {
  if (port != 1) return Failed("ibv_query_port_speed", Invalid("the port number must be 1"));
  *speed = kSpeed;
  return 0;
} catch (...) {
  return Thrown("ibv_query_port_speed");
}
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

int ibv_query_port(ibv_context* context, uint8_t port, _compat_ibv_port_attr* attributes) try {
  // The structure as it was before ibv_query_port became a macro that passes the size.
  constexpr size_t kCompatSize = offsetof(ibv_port_attr, port_cap_flags2);
  return QueryPort(context, port, reinterpret_cast<ibv_port_attr*>(attributes), kCompatSize);
} catch (...) {
  return Thrown("ibv_query_port");
}

int ibv_query_pkey(ibv_context* /*context*/, uint8_t port, int index, __be16* pkey) {
  if (port != 1 || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *pkey = kDefaultPartition;
  return 0;
}

int ibv_get_pkey_index(ibv_context* /*context*/, uint8_t port, __be16 pkey) {
  if (port == 1 && pkey == kDefaultPartition) return 0;
  errno = EINVAL;
  return -1;
}
