#include "wire/roce/aeth.h"

namespace verbena::wire {

std::string ToString(const Aeth& aeth) {
  return "AETH " + ToString(aeth.syndrome) + ", MSN " + std::to_string(aeth.msn.value());
}

}  // namespace verbena::wire
