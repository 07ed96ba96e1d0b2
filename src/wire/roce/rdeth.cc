#include "wire/roce/rdeth.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const Rdeth& rdeth) {
  return "RDETH EE-Context " + Hex(rdeth.ee_context.value(), 6);
}

}  // namespace verbena::wire
