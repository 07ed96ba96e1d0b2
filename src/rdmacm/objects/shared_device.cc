#include "rdmacm/objects/shared_device.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include "base/error.h"
#include "base/result.h"
#include "ibverbs/shared.h"
#include "rdmacm/objects/address.h"

namespace verbena::rdmacm {
namespace {

// Never destroyed: static destructors of the program may still use ids.
struct Opened {
  Mutex mutex;
  SharedDevice* device VERBENA_GUARDED_BY(mutex) = nullptr;
  pid_t process VERBENA_GUARDED_BY(mutex) = 0;
};

Opened& TheOpened() {
  static Opened& opened = *new Opened;
  return opened;
}

uint8_t Limit(int value) {
  // The value 0xff of a parameter means the limit itself.
  return static_cast<uint8_t>(std::clamp(value, 0, std::numeric_limits<uint8_t>::max() - 1));
}

ibv_context* OpenFirst() {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  ibv_context* const verbs = count > 0 ? ibv_open_device(list[0]) : nullptr;
  if (list != nullptr) ibv_free_device_list(list);
  return verbs;
}

}  // namespace

SharedDevice::SharedDevice(ibv_context* verbs, ibv_pd* pd, const ibv_device_attr& limits)
    : verbs_(verbs),
      pd_(pd),
      responder_resources_max_(Limit(limits.max_qp_rd_atom)),
      initiator_depth_max_(Limit(limits.max_qp_init_rd_atom)) {}

ErrorOr<SharedDevice*> SharedDevice::Open() {
  ibv_context* const verbs = OpenFirst();
  if (verbs == nullptr) return Fail(SystemError("cannot open the device"));
  ibv_device_attr limits{};
  ibv_pd* const pd = ibv_query_device(verbs, &limits) == 0 ? ibv_alloc_pd(verbs) : nullptr;
  if (pd == nullptr) {
    const Error error = SystemError("cannot allocate a protection domain");
    ibv_close_device(verbs);
    return Fail(error);
  }
  return new SharedDevice(verbs, pd, limits);
}

void SharedDevice::FlushOpened() {
  Opened& opened = TheOpened();
  const MutexLock lock(opened.mutex);
  if (opened.device != nullptr && opened.process == getpid()) opened.device->handle().Flush();
}

ErrorOr<SharedDevice*> SharedDevice::Get() {
  Opened& opened = TheOpened();
  const MutexLock lock(opened.mutex);
  if (opened.device != nullptr && opened.process == getpid()) return opened.device;
  const auto device = Open();
  if (!device) return Fail(device.error());
  opened.device = *device;
  opened.process = getpid();
  return opened.device;
}

const verbena::Context& SharedDevice::handle() const { return ibverbs::HandleOf(verbs_); }

ibv_xrcd* SharedDevice::xrcd() {
  const MutexLock lock(mutex_);
  if (xrcd_ == nullptr) {
    ibv_xrcd_init_attr attributes{};
    attributes.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    attributes.fd = -1;
    attributes.oflags = O_CREAT;
    xrcd_ = ibv_open_xrcd(verbs_, &attributes);
  }
  return xrcd_;
}

ErrorOr<uint8_t> SharedDevice::GidIndexOf(const IpAddress& address, uint32_t interface) const {
  constexpr size_t kGidsMax = 256;
  std::array<ibv_gid_entry, kGidsMax> table{};
  const ssize_t count = ibv_query_gid_table(verbs_, table.data(), table.size(), 0);
  if (count < 0) return Fail(SystemError(static_cast<int>(-count), "cannot read the GID table"));
  const ibv_gid gid = ToGid(address);
  const std::span present(table.data(), static_cast<size_t>(count));
  const auto found = std::ranges::find_if(present, [&](const ibv_gid_entry& entry) {
    return std::memcmp(entry.gid.raw, gid.raw, sizeof gid.raw) == 0 &&
           (interface == 0 || entry.ndev_ifindex == 0 || entry.ndev_ifindex == interface);
  });
  if (found == present.end()) {
    return Fail(SystemError(ENODEV, ToString(address) + " is not an address of the device"));
  }
  return static_cast<uint8_t>(found->gid_index);
}

}  // namespace verbena::rdmacm
