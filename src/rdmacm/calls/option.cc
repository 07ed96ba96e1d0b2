// Options of ids, and the enhanced connection establishment.

#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/result.h"
#include "rdmacm/failure.h"
#include "rdmacm/objects/id.h"
#include "rdmacm/objects/path.h"

namespace verbena::rdmacm {
namespace {

template <class T>
std::optional<T> Read(const void* value, size_t size) {
  if (value == nullptr || size != sizeof(T)) return std::nullopt;
  T read{};
  std::memcpy(&read, value, sizeof read);
  return read;
}

Error WrongSize() { return Invalid("the size of the value does not match the option"); }

ErrorOr<void> SetReuse(Id& id, const void* value, size_t size) {
  const auto reuse = Read<int>(value, size);
  if (!reuse) return Fail(WrongSize());
  const bool in_time = id.state == IdState::kIdle;
  if (!in_time && (*reuse == 0 || id.state == IdState::kListen)) {
    return Fail(Invalid("the option must be set before the id has an address"));
  }
  id.options.bind.reuse_address = *reuse != 0;
  return {};
}

ErrorOr<void> SetFamilyOnly(Id& id, const void* value, size_t size) {
  const auto only = Read<int>(value, size);
  if (!only) return Fail(WrongSize());
  if (id.state != IdState::kIdle && id.state != IdState::kBound) {
    return Fail(Invalid("the option must be set before the id has a destination"));
  }
  id.options.bind.own_family_only = *only != 0;
  return {};
}

ErrorOr<void> SetOfId(Id& id, int name, const void* value, size_t size) {
  switch (name) {
    case RDMA_OPTION_ID_TOS: {
      const auto type = Read<uint8_t>(value, size);
      if (!type) return Fail(WrongSize());
      id.options.type_of_service = *type;
      return {};
    }
    case RDMA_OPTION_ID_REUSEADDR:
      return SetReuse(id, value, size);
    case RDMA_OPTION_ID_AFONLY:
      return SetFamilyOnly(id, value, size);
    case RDMA_OPTION_ID_ACK_TIMEOUT: {
      const auto timeout = Read<uint8_t>(value, size);
      constexpr uint8_t kTimeoutMax = 31;  // five bits
      if (!timeout || *timeout > kTimeoutMax) return Fail(Invalid("the timeout must be 0 to 31"));
      if (id.qp_type != IBV_QPT_RC && id.qp_type != IBV_QPT_XRC_SEND) {
        return Fail(Invalid("only ids for connections have a timeout"));
      }
      id.options.ack_timeout = *timeout;
      return {};
    }
    default:
      return Fail(SystemError(ENOSYS, "unknown option"));
  }
}

// Resolves the route with path records of the program. The routes of the system determine the only
// path, so the content of the records is not used.
ErrorOr<void> SetPath(Id& id, const void* value, size_t size) {
  if (value == nullptr || size == 0 || size % sizeof(ibv_path_data) != 0) return Fail(WrongSize());
  if (id.state != IdState::kAddressResolved) {
    return Fail(Invalid("call rdma_resolve_addr first, and set the path only once"));
  }
  if (auto ok = ShowPath(id, MtuOf(id)); !ok) return ok;
  id.state = IdState::kRouteResolved;
  return PostEvent(id, {.type = RDMA_CM_EVENT_ROUTE_RESOLVED});
}

}  // namespace
}  // namespace verbena::rdmacm

using namespace verbena::rdmacm;  // NOLINT(google-build-using-namespace): the calls are global

int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, size_t size) try {
  if (id == nullptr) return MinusOne(EINVAL);
  verbena::ErrorOr<void> ok = verbena::Fail(verbena::SystemError(ENOSYS, "unknown option"));
  if (level == RDMA_OPTION_ID) ok = SetOfId(Cast(id), name, value, size);
  if (level == RDMA_OPTION_IB && name == RDMA_OPTION_IB_PATH) ok = SetPath(Cast(id), value, size);
  return ok ? 0 : Failed("rdma_set_option", ok.error());
} catch (...) {
  return MinusOne(Thrown("rdma_set_option"));
}

int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (id == nullptr || id->qp != nullptr || ece == nullptr || ece->vendor_id == 0 ||
      ece->comp_mask != 0) {
    return MinusOne(EINVAL);
  }
  Cast(id).local_ece = *ece;
  return 0;
}

int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (id == nullptr || id->qp != nullptr || ece == nullptr) return MinusOne(EINVAL);
  *ece = Cast(id).remote_ece;
  return 0;
}
