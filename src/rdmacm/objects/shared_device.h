#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "base/mutex.h"
#include "verbena/context.h"
#include "verbena/error.h"
#include "verbena/ip_address.h"

namespace verbena::rdmacm {

// The device as all ids of a process share it: an open context, the default protection domain and
// the default XRC domain. Opened at first use, and never closed: programs keep the pointers.
//
// A forked child opens a device of its own. Thread rule: any thread.
class SharedDevice {
 public:
  [[nodiscard]] static ErrorOr<SharedDevice*> Get();

  [[nodiscard]] ibv_context* verbs() const { return verbs_; }
  [[nodiscard]] const verbena::Context& handle() const;
  [[nodiscard]] ibv_pd* pd() const { return pd_; }
  // Opened when it is first asked for. Null, with errno set, if that fails.
  [[nodiscard]] ibv_xrcd* xrcd();

  // Reads and atomics that a queue pair serves at a time, and has outstanding at a time.
  [[nodiscard]] uint8_t responder_resources_max() const { return responder_resources_max_; }
  [[nodiscard]] uint8_t initiator_depth_max() const { return initiator_depth_max_; }

  // The index of an address of this machine in the GID table. `interface` counts unless it is 0.
  [[nodiscard]] ErrorOr<uint8_t> GidIndexOf(const IpAddress& address, uint32_t interface) const;

 private:
  SharedDevice(ibv_context* verbs, ibv_pd* pd, const ibv_device_attr& limits);
  [[nodiscard]] static ErrorOr<SharedDevice*> Open();

  ibv_context* const verbs_;
  ibv_pd* const pd_;
  const uint8_t responder_resources_max_;
  const uint8_t initiator_depth_max_;
  Mutex mutex_;
  ibv_xrcd* xrcd_ VERBENA_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace verbena::rdmacm
