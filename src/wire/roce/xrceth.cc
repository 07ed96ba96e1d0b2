#include "wire/roce/xrceth.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const Xrceth& xrceth) { return "XRCETH SRQ " + Hex(xrceth.srq.value(), 6); }

}  // namespace verbena::wire
