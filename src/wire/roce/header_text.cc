// The headers of a packet as text.

#include <string>

#include "wire/roce/aeth.h"
#include "wire/roce/atomic_ack_eth.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/bth.h"
#include "wire/roce/deth.h"
#include "wire/roce/feth.h"
#include "wire/roce/ieth.h"
#include "wire/roce/immdt.h"
#include "wire/roce/rdeth.h"
#include "wire/roce/reth.h"
#include "wire/roce/xrceth.h"
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

std::string ToString(const Reth& reth) {
  return "RETH address " + Hex(reth.address.value(), 16) + ", R_Key " + Hex(reth.r_key.value(), 8) +
         ", length " + std::to_string(reth.dma_length);
}

std::string ToString(const AtomicEth& atomic) {
  return "AtomicETH address " + Hex(atomic.address.value(), 16) + ", R_Key " +
         Hex(atomic.r_key.value(), 8) + ", swap or add " + Hex(atomic.swap_or_add, 16) +
         ", compare " + Hex(atomic.compare, 16);
}

std::string ToString(const Aeth& aeth) {
  return "AETH " + ToString(aeth.syndrome) + ", MSN " + std::to_string(aeth.msn.value());
}

std::string ToString(const AtomicAckEth& ack) {
  return "AtomicAckETH original " + Hex(ack.original, 16);
}

std::string ToString(const Deth& deth) {
  return "DETH Q_Key " + Hex(deth.q_key.value(), 8) + ", source QP " +
         Hex(deth.source_qp.value(), 6);
}

std::string ToString(const Rdeth& rdeth) {
  return "RDETH EE-Context " + Hex(rdeth.ee_context.value(), 6);
}

std::string ToString(const Xrceth& xrceth) { return "XRCETH SRQ " + Hex(xrceth.srq.value(), 6); }

std::string ToString(const ImmDt& immdt) { return "ImmDt " + Hex(immdt.data, 8); }

std::string ToString(const Ieth& ieth) { return "IETH R_Key " + Hex(ieth.r_key.value(), 8); }

std::string ToString(const Feth& feth) {
  return "FETH placement " + Hex(feth.placement, 1) + ", selectivity " + Hex(feth.selectivity, 1);
}

}  // namespace verbena::wire
