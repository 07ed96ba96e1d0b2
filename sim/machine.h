#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "fabric/machine_addresses.h"

namespace verbena::sim {

// The virtual time of a run, which the simulator sets.
class VirtualClock final : public verbena::Clock {
 public:
  [[nodiscard]] Time Now() const override { return now; }

  Time now;
};

// A machine with one address that never changes.
class OneAddress final : public fabric::MachineAddresses {
 public:
  explicit OneAddress(const IpAddress& ip) : ip_(ip) {}

  [[nodiscard]] ErrorOr<std::vector<fabric::LocalAddress>> All() const override {
    return std::vector{fabric::LocalAddress{
        .ip = ip_, .interface_name = "sim", .interface_index = 1, .mtu = 9'000, .up = true}};
  }
  [[nodiscard]] std::optional<IpAddress> SourceFor(const IpAddress& /*to*/) const override {
    return ip_;
  }
  [[nodiscard]] bool Has(const IpAddress& address) const override { return address == ip_; }
  [[nodiscard]] int fd() const override { return -1; }
  [[nodiscard]] bool HasChanged() override { return false; }

 private:
  const IpAddress ip_;
};

}  // namespace verbena::sim
