#include "wire/roce/feth.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const Feth& feth) {
  return "FETH placement " + Hex(feth.placement, 1) + ", selectivity " + Hex(feth.selectivity, 1);
}

}  // namespace verbena::wire
