#include "fabric/slots.h"

#include <cerrno>
#include <string>
#include <utility>

#include "base/check.h"

namespace verbena::fabric {
namespace {

FabricError TakenError(const SlotOptions& options) {
  const std::string first = std::to_string(options.base_port);
  const std::string last = std::to_string(options.base_port + kSlotCount - 1);
  const std::string range = "ports " + first + " to " + last;
  if (!options.strict) {
    return {.code = EADDRINUSE,
            .words = "all UDP " + range + " are taken: at most " + std::to_string(kSlotCount) +
                     " processes can use this machine's addresses at a time; end some of them"};
  }
  return {.code = EADDRINUSE,
          .words = "UDP port " + first +
                   " is taken by another process, or by the kernel's Soft-RoCE (module rdma_rxe), "
                   "and strict mode allows no other; end it (ss -ulnp sport = :" +
                   first + " names it), or turn strict mode off to use one of the " + range};
}

}  // namespace

Result<Slot, FabricError> ClaimSlot(UdpSocket& socket, const SlotOptions& options) {
  CHECK(options.base_port + kSlotCount - 1 <= UINT16_MAX);
  const unsigned count = options.strict ? 1 : kSlotCount;
  for (unsigned number = 0; number < count; ++number) {
    const Slot slot(static_cast<uint8_t>(number));
    auto bound = socket.Bind(PortOf(slot, options.base_port));
    if (bound) return slot;
    // Whatever else is wrong is wrong with the next port, too.
    if (bound.error().code != EADDRINUSE) return Fail(std::move(bound.error()));
  }
  return Fail(TakenError(options));
}

}  // namespace verbena::fabric
