// The headers of iWARP as text.

#include <string>

#include "base/check.h"
#include "wire/iwarp/ddp_control.h"
#include "wire/iwarp/ddp_session.h"
#include "wire/iwarp/ddp_tagged.h"
#include "wire/iwarp/ddp_untagged.h"
#include "wire/iwarp/mpa_fpdu.h"
#include "wire/iwarp/mpa_request.h"
#include "wire/iwarp/rdmap_atomic.h"
#include "wire/iwarp/rdmap_immediate.h"
#include "wire/iwarp/rdmap_read_request.h"
#include "wire/iwarp/rdmap_terminate.h"
#include "wire/text.h"

namespace verbena::wire {

std::string ToString(const FpduHeader& header) {
  return "FPDU length " + std::to_string(header.ulpdu_length);
}

std::string ToString(const MpaMarker& marker) {
  return "marker FPDUPTR " + std::to_string(marker.fpdu_pointer);
}

std::string ToString(const MpaRequest& frame) {
  std::string text = frame.kind == MpaFrameKind::kRequest ? "MPA request" : "MPA reply";
  text += ", revision " + std::to_string(frame.revision);
  if (frame.markers) text += ", markers";
  if (frame.crc) text += ", CRC";
  if (frame.rejects) text += ", rejects";
  if (frame.enhanced) text += ", enhanced";
  return text + ", private data " + std::to_string(frame.private_data_length);
}

std::string ToString(const MpaEnhanced& enhanced) {
  std::string text =
      "IRD " + std::to_string(enhanced.ird) + ", ORD " + std::to_string(enhanced.ord);
  if (enhanced.peer_to_peer) text += ", peer to peer";
  if (enhanced.rtr_zero_length) text += ", RTR by empty FPDU";
  if (enhanced.rtr_write) text += ", RTR by write";
  if (enhanced.rtr_read) text += ", RTR by read";
  return text;
}

std::string ToString(const DdpControl& control) {
  std::string text = ToString(control.opcode);
  text += control.tagged ? ", tagged" : ", untagged";
  if (control.last) text += ", last";
  if (control.ddp_version != DdpControl::kVersion) {
    text += ", DDP version " + std::to_string(control.ddp_version);
  }
  if (control.rdmap_version != DdpControl::kVersion) {
    text += ", RDMAP version " + std::to_string(control.rdmap_version);
  }
  return text;
}

std::string ToString(const DdpSequence& header) {
  return "DDP-SSN " + std::to_string(header.ssn.value());
}

std::string ToString(DdpFunction function) {
  switch (function) {
    case DdpFunction::kInitiate:
      return "Initiate";
    case DdpFunction::kAccept:
      return "Accept";
    case DdpFunction::kReject:
      return "Reject";
    case DdpFunction::kTerminate:
      return "Terminate";
    case DdpFunction::kEnhancedInitiate:
      return "Enhanced Initiate";
    case DdpFunction::kEnhancedAccept:
      return "Enhanced Accept";
    case DdpFunction::kEnhancedReject:
      return "Enhanced Reject";
  }
  UNREACHABLE();
}

std::string ToString(const DdpSessionControl& control) {
  return "session " + ToString(control.function) + ", DDP-SSN " +
         std::to_string(control.ssn.value());
}

std::string ToString(const DdpTagged& header) {
  return ToString(header.control) + ", STag " + Hex(header.stag.value(), 8) + ", offset " +
         Hex(header.offset.value(), 16);
}

std::string ToString(const DdpUntagged& header) {
  std::string text = ToString(header.control) + ", queue " +
                     std::to_string(static_cast<uint32_t>(header.queue)) + ", MSN " +
                     std::to_string(header.msn.value()) + ", offset " +
                     std::to_string(header.offset.value());
  if (header.invalidate != Key()) text += ", invalidate " + Hex(header.invalidate.value(), 8);
  return text;
}

std::string ToString(const RdmapReadRequest& request) {
  return "read " + std::to_string(request.size) + " bytes, source " +
         Hex(request.source_stag.value(), 8) + " at " + Hex(request.source_offset.value(), 16) +
         ", sink " + Hex(request.sink_stag.value(), 8) + " at " +
         Hex(request.sink_offset.value(), 16);
}

std::string ToString(const RdmapImmediate& immediate) {
  return "immediate " + Hex(immediate.data, 16);
}

std::string ToString(const RdmapAtomicRequest& request) {
  const bool swaps = request.opcode == RdmapAtomicOpcode::kCompareSwap;
  std::string text = swaps ? "CmpSwap" : "FetchAdd";
  text += " request " + std::to_string(request.id.value()) + ", STag " +
          Hex(request.stag.value(), 8) + ", offset " + Hex(request.offset.value(), 16);
  text += (swaps ? ", swap " : ", add ") + Hex(request.add_or_swap, 16) + " mask " +
          Hex(request.add_or_swap_mask, 16);
  if (swaps) {
    text += ", compare " + Hex(request.compare, 16) + " mask " + Hex(request.compare_mask, 16);
  }
  return text;
}

std::string ToString(const RdmapAtomicResponse& response) {
  return "atomic response " + std::to_string(response.id.value()) + ", original " +
         Hex(response.original, 16);
}

std::string ToString(const RdmapTerminate& terminate) {
  std::string text = std::string("terminate ") + Hex(static_cast<uint16_t>(terminate.code), 4) +
                     " (" + NameOf(terminate.code) + ")";
  if (terminate.segment_length) {
    text += ", segment of " + std::to_string(*terminate.segment_length) + " bytes";
  }
  if (const auto* const tagged = std::get_if<DdpTagged>(&terminate.header)) {
    text += ": " + ToString(*tagged);
  }
  if (const auto* const untagged = std::get_if<DdpUntagged>(&terminate.header)) {
    text += ": " + ToString(*untagged);
  }
  if (terminate.read_request) text += "; " + ToString(*terminate.read_request);
  return text;
}

}  // namespace verbena::wire
