#include "wire/roce/bth.h"

#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const Bth& bth) {
  std::string text = "BTH " + ToString(bth.opcode) + ", QP " + Hex(bth.dest_qp.value(), 6) +
                     ", PSN " + std::to_string(bth.psn.value()) + ", P_Key " +
                     Hex(bth.p_key.value(), 4);
  if (bth.pad_count != 0) text += ", pad " + std::to_string(bth.pad_count);
  if (bth.ack_request) text += ", ack request";
  if (bth.solicited_event) text += ", solicited event";
  if (bth.migration_request) text += ", migration request";
  if (bth.fecn) text += ", FECN";
  if (bth.becn) text += ", BECN";
  return text;
}

}  // namespace verbena::wire
