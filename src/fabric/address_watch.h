#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/address.h"
#include "fabric/file_descriptor.h"

namespace verbena::fabric {

// Notices when this machine gets or loses an address. The kernel also tells when an address is only
// renewed, so what it says is compared with the addresses that there were.
//
// One thread at a time.
class AddressWatch {
 public:
  // Where that is not permitted it notices nothing.
  AddressWatch();

  // Readable when there may be news; -1 if there never will be, which poll() passes over.
  [[nodiscard]] int fd() const { return file_.get(); }

  // Since it was last asked. Does not wait.
  [[nodiscard]] bool HasChanged();

 private:
  // With the index of the interface that has it.
  using Addresses = std::vector<std::pair<IpAddress, uint32_t>>;

  static Addresses Present();

  FileDescriptor file_;
  Addresses known_;
};

}  // namespace verbena::fabric
