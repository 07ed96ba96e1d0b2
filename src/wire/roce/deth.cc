#include "wire/roce/deth.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const Deth& deth) {
  return "DETH Q_Key " + Hex(deth.q_key.value(), 8) + ", source QP " +
         Hex(deth.source_qp.value(), 6);
}

}  // namespace verbena::wire
