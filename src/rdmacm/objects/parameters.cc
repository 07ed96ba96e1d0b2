#include "rdmacm/objects/parameters.h"

#include <algorithm>
#include <string>

#include "base/result.h"
#include "ibverbs/failure.h"

namespace verbena::rdmacm {
namespace {

constexpr uint8_t kRetriesMax = 7;  // three bits

CmService ServiceOf(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UC:
      return CmService::kUc;
    case IBV_QPT_UD:
      return CmService::kUd;
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      return CmService::kXrc;
    case IBV_QPT_RC:
    case IBV_QPT_RAW_PACKET:
    case IBV_QPT_DRIVER:
      return CmService::kRc;
  }
  return CmService::kRc;
}

}  // namespace

ErrorOr<CmPrivateData> PrivateData(std::span<const std::byte> bytes, size_t max) {
  if (bytes.size() > max) {
    return Fail(ibverbs::Invalid("this message has room for " + std::to_string(max) +
                                 " bytes of private data, and not for " +
                                 std::to_string(bytes.size())));
  }
  CmPrivateData data;
  std::ranges::copy(bytes, data.bytes.begin());
  data.size = static_cast<uint8_t>(bytes.size());
  return data;
}

std::span<const std::byte> BytesOf(const void* data, uint8_t size) {
  return data != nullptr ? std::span(static_cast<const std::byte*>(data), size)
                         : std::span<const std::byte>();
}

ErrorOr<void> CheckParameters(const Id& id, const rdma_conn_param* given) {
  if (id.device == nullptr)
    return Fail(ibverbs::Invalid("the id is not bound to an address of a device"));
  if (given == nullptr) {
    if (id.qp != nullptr || IsDatagram(id)) return {};
    return Fail(
        ibverbs::Invalid("the id has no queue pair: pass the number of one in the parameters"));
  }
  const auto fits = [](uint8_t wanted, uint8_t max) { return Limit(wanted, max) <= max; };
  if (id.ps == RDMA_PS_TCP &&
      (!fits(given->responder_resources, id.device->responder_resources_max()) ||
       !fits(given->initiator_depth, id.device->initiator_depth_max()))) {
    return Fail(
        ibverbs::Invalid("responder_resources or initiator_depth exceeds the limit of the device "
                         "(ibv_query_device)"));
  }
  return {};
}

ConnectionParameters ParametersOf(const Id& id, const rdma_conn_param* given) {
  ConnectionParameters parameters{.service = ServiceOf(id.qp_type),
                                  .responder_resources = id.responder_resources,
                                  .initiator_depth = id.initiator_depth,
                                  .qkey = QKey{RDMA_UDP_QKEY},
                                  .vendor_options = {id.local_ece.vendor_id, id.local_ece.options}};
  if (given != nullptr) {
    parameters.flow_control = given->flow_control != 0;
    parameters.retry_count = std::min(given->retry_count, kRetriesMax);
    parameters.rnr_retry_count = std::min(given->rnr_retry_count, kRetriesMax);
    parameters.qp = QpNumber{given->qp_num};
    parameters.has_srq = given->srq != 0;
  }
  if (id.qp != nullptr) {
    parameters.qp = QpNumber{id.qp->qp_num};
    parameters.has_srq = id.qp->srq != nullptr;
  }
  return parameters;
}

}  // namespace verbena::rdmacm
