#include "wire/roce/atomic_eth.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const AtomicEth& atomic) {
  return "AtomicETH address " + Hex(atomic.address.value(), 16) + ", R_Key " +
         Hex(atomic.r_key.value(), 8) + ", swap or add " + Hex(atomic.swap_or_add, 16) +
         ", compare " + Hex(atomic.compare, 16);
}

}  // namespace verbena::wire
