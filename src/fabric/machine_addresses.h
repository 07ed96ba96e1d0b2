#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "fabric/address.h"
#include "fabric/address_watch.h"
#include "fabric/interfaces.h"

namespace verbena::fabric {

// The addresses of a machine, as an adapter needs them. One thread at a time, except fd().
class MachineAddresses {
 public:
  MachineAddresses() = default;
  MachineAddresses(const MachineAddresses&) = delete;
  MachineAddresses& operator=(const MachineAddresses&) = delete;
  virtual ~MachineAddresses() = default;

  // See LocalAddresses and UsualSource.
  [[nodiscard]] virtual ErrorOr<std::vector<LocalAddress>> All() const = 0;
  [[nodiscard]] virtual std::optional<IpAddress> SourceFor(const IpAddress& to) const = 0;
  // Whether the machine has this address.
  [[nodiscard]] virtual bool Has(const IpAddress& address) const = 0;

  // Readable when they may have changed; -1 if changes are not reported, which poll() ignores.
  [[nodiscard]] virtual int fd() const = 0;
  // Since the last call. Does not wait.
  [[nodiscard]] virtual bool HasChanged() = 0;
};

// The addresses of this machine, from the kernel.
class SystemAddresses final : public MachineAddresses {
 public:
  [[nodiscard]] ErrorOr<std::vector<LocalAddress>> All() const override { return LocalAddresses(); }
  [[nodiscard]] std::optional<IpAddress> SourceFor(const IpAddress& to) const override {
    return UsualSource(to);
  }
  // Tries to bind the address.
  [[nodiscard]] bool Has(const IpAddress& address) const override;
  [[nodiscard]] int fd() const override { return watch_.fd(); }
  [[nodiscard]] bool HasChanged() override { return watch_.HasChanged(); }

 private:
  AddressWatch watch_;
};

}  // namespace verbena::fabric
