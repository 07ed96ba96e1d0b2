#include "wire/roce/ieth.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const Ieth& ieth) { return "IETH R_Key " + Hex(ieth.r_key.value(), 8); }

}  // namespace verbena::wire
