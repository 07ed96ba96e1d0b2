#include "wire/roce/reth.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const Reth& reth) {
  return "RETH address " + Hex(reth.address.value(), 16) + ", R_Key " + Hex(reth.r_key.value(), 8) +
         ", length " + std::to_string(reth.dma_length);
}

}  // namespace verbena::wire
