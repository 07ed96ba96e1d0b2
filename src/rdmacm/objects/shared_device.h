#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "base/mutex.h"
#include "verbena/context.h"
#include "verbena/error.h"
#include "verbena/ip_address.h"

namespace verbena::rdmacm {

// The device that all ids of a process share: an open context, the default protection domain and
// the default XRC domain. Opened at first use, and never closed, because programs keep the
// pointers.
//
// A forked child opens its own device. Thread rule: any thread.
class SharedDevice {
 public:
  [[nodiscard]] static ErrorOr<SharedDevice*> Get();
  // The process ends: see verbena::Context::Flush. Does nothing if the device is not open.
  static void FlushOpened();

  [[nodiscard]] ibv_context* verbs() const { return verbs_; }
  [[nodiscard]] const verbena::Context& handle() const;
  [[nodiscard]] ibv_pd* pd() const { return pd_; }
  // Opened at the first call. Null, with errno set, if that fails.
  [[nodiscard]] ibv_xrcd* xrcd();

  // How many reads and atomics a queue pair can serve, and have outstanding, at a time.
  [[nodiscard]] uint8_t responder_resources_max() const { return responder_resources_max_; }
  [[nodiscard]] uint8_t initiator_depth_max() const { return initiator_depth_max_; }

  // The index of a local address in the GID table. `interface` is checked unless it is 0.
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
