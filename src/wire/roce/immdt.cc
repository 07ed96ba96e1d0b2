#include "wire/roce/immdt.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const ImmDt& immdt) { return "ImmDt " + Hex(immdt.data, 8); }

}  // namespace verbena::wire
