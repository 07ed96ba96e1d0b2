#include "transport/iwarp/session_control.h"

#include <algorithm>

namespace verbena::transport {
namespace {

using wire::DdpFunction;
using wire::DdpSessionControl;
using wire::MpaEnhanced;
using wire::MpaFrameKind;
using wire::MpaRequest;

DdpFunction FunctionOf(const MpaRequest& frame) {
  if (frame.kind == MpaFrameKind::kRequest) {
    return frame.enhanced ? DdpFunction::kEnhancedInitiate : DdpFunction::kInitiate;
  }
  if (frame.rejects) return frame.enhanced ? DdpFunction::kEnhancedReject : DdpFunction::kReject;
  return frame.enhanced ? DdpFunction::kEnhancedAccept : DdpFunction::kAccept;
}

// nullopt: the function ends a session.
std::optional<MpaRequest> SetupOf(DdpFunction function) {
  MpaRequest frame{.kind = MpaFrameKind::kReply};
  switch (function) {
    case DdpFunction::kInitiate:
    case DdpFunction::kEnhancedInitiate:
      frame.kind = MpaFrameKind::kRequest;
      break;
    case DdpFunction::kReject:
    case DdpFunction::kEnhancedReject:
      frame.rejects = true;
      break;
    case DdpFunction::kAccept:
    case DdpFunction::kEnhancedAccept:
      break;
    case DdpFunction::kTerminate:
      return std::nullopt;
  }
  frame.enhanced = function >= DdpFunction::kEnhancedInitiate;
  frame.revision = frame.enhanced ? 2 : 1;
  return frame;
}

}  // namespace

std::optional<SessionControlBytes> ControlOf(std::span<const std::byte> frame, wire::DdpSsn ssn) {
  const auto header = MpaRequest::Parse(frame);
  if (!header || header->private_data_length > DdpSessionControl::kPrivateDataMax ||
      frame.size() < MpaRequest::kSize + header->private_data_length) {
    return std::nullopt;
  }
  SessionControlBytes control;
  DdpSessionControl{.ssn = ssn, .function = FunctionOf(*header)}.Serialize(control.bytes);
  std::ranges::copy(frame.subspan(MpaRequest::kSize, header->private_data_length),
                    control.bytes.begin() + DdpSessionControl::kSize);
  control.size = DdpSessionControl::kSize + header->private_data_length;
  return control;
}

std::optional<SetupFrameBytes> FrameOf(std::span<const std::byte> control) {
  const auto header = DdpSessionControl::Parse(control);
  if (!header) return std::nullopt;
  auto frame = SetupOf(header->function);
  if (!frame) return std::nullopt;
  const auto data = control.subspan(DdpSessionControl::kSize);
  const size_t least = frame->enhanced ? MpaEnhanced::kSize : 0;
  if (data.size() < least || data.size() > MpaRequest::kPrivateDataMax) return std::nullopt;
  frame->private_data_length = static_cast<uint16_t>(data.size());
  SetupFrameBytes result;
  frame->Serialize(result.bytes);
  std::ranges::copy(data, result.bytes.begin() + MpaRequest::kSize);
  result.size = MpaRequest::kSize + data.size();
  return result;
}

}  // namespace verbena::transport
