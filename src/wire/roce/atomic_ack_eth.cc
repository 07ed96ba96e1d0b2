#include "wire/roce/atomic_ack_eth.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const AtomicAckEth& ack) {
  return "AtomicAckETH original " + Hex(ack.original, 16);
}

}  // namespace verbena::wire
