#pragma once

#include <string>
#include <utility>
#include <vector>

#include "verbena/context.h"
#include "verbena/error.h"
#include "verbena/gid.h"
#include "verbena/options.h"

namespace verbena {

// A device that can be opened. It has one port, number 1, which is active; one partition, the
// default one; and a GID for every address of this machine. A value type.
class Device {
 public:
  Device(std::string name, const Options& limits) : name_(std::move(name)), limits_(limits) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Options& limits() const { return limits_; }
  [[nodiscard]] ErrorOr<std::vector<GidEntry>> Gids() const { return Context::Gids(); }
  [[nodiscard]] ErrorOr<Context> Open() const { return Context::Open(limits_); }

 private:
  std::string name_;
  Options limits_;
};

// All devices, of this machine: verbena0 speaks RoCE, verbena_iw0 iWARP. The first is that of
// limits.transport. Open opens them with `limits`, but for the transport.
[[nodiscard]] std::vector<Device> ListDevices(const Options& limits = {});

}  // namespace verbena
