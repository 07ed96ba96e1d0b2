// ibv_query_device, ibv_query_device_ex and ibv_query_rt_values_ex.

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string_view>

#include <climits>

#include "ibverbs/failure.h"
#include "ibverbs/objects/control_ops.h"
#include "ibverbs/objects/dm.h"
#include "ibverbs/objects/objects.h"
#include "ibverbs/query/device.h"

namespace verbena::ibverbs {
namespace {

constexpr std::string_view kVersion = "0.1.0";  // of the project

// Programs have lists of the devices of some vendors. This company identifier is locally
// administered, so it belongs to no vendor, and the part is in no list.
constexpr uint32_t kVendor = 0x02FEED;
constexpr uint32_t kPart = 0x7665;

constexpr unsigned kCapabilities = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID |
                                   IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
                                   IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_MGT_EXTENSIONS |
                                   IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC;

constexpr uint32_t kOdpUd = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
constexpr uint32_t kOdpUc = kOdpUd | IBV_ODP_SUPPORT_WRITE;
constexpr uint32_t kOdpRc =
    kOdpUc | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;

// ibv_device_attr has signed fields.
int Limit(uint64_t limit) { return static_cast<int>(std::min<uint64_t>(limit, INT_MAX)); }

void FillQueues(ibv_device_attr& out, const Options& limits) {
  out.max_qp = Limit(limits.qps_max);
  out.max_qp_wr = Limit(limits.queue_depth_max);
  out.max_sge = Limit(limits.sges_max);
  out.max_sge_rd = Limit(limits.sges_max);
  out.max_cq = Limit(limits.cqs_max);
  out.max_cqe = Limit(limits.completion_depth_max);
  out.max_srq = Limit(limits.srqs_max);
  out.max_srq_wr = Limit(limits.queue_depth_max);
  out.max_srq_sge = Limit(limits.sges_max);
  out.max_qp_rd_atom = limits.reads_max;
  out.max_qp_init_rd_atom = limits.reads_max;
  out.max_res_rd_atom = Limit(uint64_t{limits.reads_max} * limits.qps_max);
  out.atomic_cap = IBV_ATOMIC_HCA;
}

void FillObjects(ibv_device_attr& out, const Options& limits) {
  constexpr uint64_t kSmallestPage = 4'096;
  out.max_mr_size = UINT64_MAX;
  out.page_size_cap = ~(kSmallestPage - 1);
  out.max_mr = Limit(limits.key_slots_max);
  out.max_mw = Limit(limits.key_slots_max);
  out.max_pd = Limit(limits.domains_max);
  out.max_ah = Limit(limits.paths_max);
  out.max_mcast_grp = Limit(limits.multicast_groups_max);
  out.max_mcast_qp_attach = Limit(limits.multicast_members_max);
  out.max_total_mcast_qp_attach =
      Limit(uint64_t{limits.multicast_groups_max} * limits.multicast_members_max);
}

unsigned CapabilitiesOf(const Options& limits) {
  constexpr unsigned kOfInfiniband = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_XRC;
  return IsIwarp(limits.transport) ? kCapabilities & ~kOfInfiniband : kCapabilities;
}

ibv_device_attr Attributes(const Options& limits) {
  constexpr uint8_t kAckDelay = 15;  // 4.096 us * 2^15: the process may have to wake up
  ibv_device_attr out{};
  FillIdentity(limits.transport, out);
  FillQueues(out, limits);
  FillObjects(out, limits);
  out.device_cap_flags = CapabilitiesOf(limits);
  out.local_ca_ack_delay = kAckDelay;
  if (IsIwarp(limits.transport)) {
    out.max_ah = out.max_mcast_grp = out.max_mcast_qp_attach = out.max_total_mcast_qp_attach = 0;
  }
  return out;
}

ibv_device_attr_ex ExtendedAttributes(const Options& limits) {
  constexpr uint64_t kNanosecondsInKhz = 1'000'000;
  // The longest rendezvous header that a program should send: it must fit a packet.
  constexpr uint32_t kRendezvousHeaderMax = 64;
  ibv_device_attr_ex out{};
  out.orig_attr = Attributes(limits);
  out.odp_caps = {.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
                  .per_transport_caps = {kOdpRc, kOdpUc, kOdpUd}};
  out.xrc_odp_caps = kOdpRc;
  out.completion_timestamp_mask = UINT64_MAX;
  out.hca_core_clock = kNanosecondsInKhz;
  out.device_cap_flags_ex = CapabilitiesOf(limits);
  out.tm_caps = {.max_rndv_hdr_size = kRendezvousHeaderMax,
                 .max_num_tags = limits.tags_max,
                 .flags = IBV_TM_CAP_RC,
                 .max_ops = limits.queue_depth_max,
                 .max_sge = limits.sges_max};
  out.cq_mod_caps = {.max_cq_count = UINT16_MAX, .max_cq_period = UINT16_MAX};
  if (IsIwarp(limits.transport)) {
    out.odp_caps.per_transport_caps = {.rc_odp_caps = kOdpRc, .uc_odp_caps = 0, .ud_odp_caps = 0};
    out.xrc_odp_caps = 0;
    out.tm_caps = {};
  }
  out.phys_port_cnt_ex = 1;
  out.max_dm_size = kDeviceMemoryMax;
  return out;
}

}  // namespace

void FillIdentity(TransportType transport, ibv_device_attr& out) {
  kVersion.copy(out.fw_ver, sizeof out.fw_ver - 1);
  out.node_guid = NodeGuid(transport);
  out.sys_image_guid = NodeGuid(TransportType::kRoce);  // of the machine
  out.vendor_id = kVendor;
  out.vendor_part_id = kPart;
  out.phys_port_cnt = 1;
  out.max_pkeys = 1;
}

// `size` differs in programs that were compiled against other headers.
int QueryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* input,
                  ibv_device_attr_ex* attributes, size_t size) try {
  if (input != nullptr && input->comp_mask != 0) {
    return Failed("ibv_query_device_ex", Invalid("unknown bits in comp_mask of the input"));
  }
  if (size < sizeof attributes->orig_attr) {
    return Failed("ibv_query_device_ex", Invalid("the structure is too small"));
  }
  const ibv_device_attr_ex all = ExtendedAttributes(Cast(context).handle.options());
  std::memset(attributes, 0, size);
  std::memcpy(attributes, &all, std::min(size, sizeof all));
  return 0;
} catch (...) {
  return Thrown("ibv_query_device_ex");
}

// The clock of completion timestamps, in nanoseconds. tv_sec stays 0, because programs read tv_nsec
// as the count of ticks.
int QueryValues(ibv_context* /*context*/, ibv_values_ex* values) try {
  constexpr int64_t kSecond = 1'000'000'000;
  const uint32_t wanted = values->comp_mask;
  values->comp_mask = 0;
  if ((wanted & ~uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) {
    return Failed("ibv_query_rt_values_ex", Invalid("unknown bits in comp_mask"));
  }
  if (wanted == 0) return 0;
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  values->raw_clock = {.tv_sec = 0, .tv_nsec = now.tv_sec * kSecond + now.tv_nsec};
  values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  return 0;
} catch (...) {
  return Thrown("ibv_query_rt_values_ex");
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  *attributes = Attributes(Cast(context).handle.options());
  return 0;
}
