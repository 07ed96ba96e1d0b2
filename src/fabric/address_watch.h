#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/address.h"
#include "fabric/file_descriptor.h"

namespace verbena::fabric {

// Notices when this machine gets or loses an address. The kernel also sends a message when an
// address is only renewed, so the watch compares the present addresses with those it knows.
//
// One thread at a time.
class AddressWatch {
 public:
  // Where netlink is not permitted, the watch never reports a change.
  AddressWatch();

  // Readable when the addresses may have changed. -1 without netlink: poll() ignores it.
  [[nodiscard]] int fd() const { return file_.get(); }

  // Whether the addresses have changed since the last call. Does not block.
  [[nodiscard]] bool HasChanged();

 private:
  // Each with the index of its interface.
  using Addresses = std::vector<std::pair<IpAddress, uint32_t>>;

  static Addresses Present();

  FileDescriptor file_;
  Addresses known_;
};

}  // namespace verbena::fabric
