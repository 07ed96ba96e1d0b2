#pragma once

// Decodes the input of the fuzz targets of the connection manager.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/input.h"
#include "verbena/ip_address.h"
#include "wire/mad/cm_mad.h"

namespace verbena::fuzz {

inline IpAddress SomeAddress(Input& input) {
  return IpAddress::FromIpv4(Ipv4Address(0x0A000001U + input.Byte() % 2U));
}
inline QpNumber SomeQp(Input& input) { return QpNumber(16U + input.Byte() % 8U); }

// Uses few ids, QPs and timeouts, so that messages match connections. `some_id` chooses one of our
// ids.
template <class SomeId>
wire::CmMessage SomeMessage(Input& input, SomeId some_id, wire::ServiceId service) {
  const wire::CommId theirs(1U + input.Byte() % 4U);
  const wire::CommId ours = some_id();
  const auto small = static_cast<uint8_t>(input.Byte() % 4);
  const wire::CmTimeout timeout(small);
  switch (input.Byte() % 11) {
    case 0:
      return wire::CmReq{.local_comm_id = theirs,
                         .service_id = service,
                         .local_qp = SomeQp(input),
                         .remote_response_timeout = timeout,
                         .local_response_timeout = timeout,
                         .path_mtu = wire::CmMtu(small),
                         .max_cm_retries = small};
    case 1:
      return wire::CmRep{
          .local_comm_id = theirs, .remote_comm_id = ours, .local_qp = SomeQp(input)};
    case 2:
      return wire::CmRtu{.local_comm_id = theirs, .remote_comm_id = ours};
    case 3:
      return wire::CmRej{.local_comm_id = theirs,
                         .remote_comm_id = small == 0 ? wire::CommId() : ours,
                         .rejected = static_cast<wire::CmSubject>(input.Byte() % 3),
                         .info_length = 8,
                         .reason = static_cast<wire::CmRejectReason>(input.Byte() % 16)};
    case 4:
      return wire::CmMra{.local_comm_id = theirs,
                         .remote_comm_id = ours,
                         .received = static_cast<wire::CmSubject>(input.Byte() % 3),
                         .service_timeout = timeout};
    case 5:
      return wire::CmDreq{
          .local_comm_id = theirs, .remote_comm_id = ours, .remote_qp = SomeQp(input)};
    case 6:
      return wire::CmDrep{.local_comm_id = theirs, .remote_comm_id = ours};
    case 7:
      return wire::CmLap{.local_comm_id = theirs, .remote_comm_id = ours};
    case 8:
      return wire::CmSidrReq{.request_id = wire::SidrRequestId(small), .service_id = service};
    case 9:
      return wire::CmSidrRep{.request_id = wire::SidrRequestId(ours.value())};
    default:
      return wire::CmApr{.local_comm_id = theirs, .remote_comm_id = ours};
  }
}

// Changes a byte in one of eight messages.
inline std::array<std::byte, wire::kMadSize> SomeMad(Input& input, const wire::CmMessage& message) {
  auto bytes = wire::CmMad{{}, message}.ToBytes();
  if (input.Byte() % 8 == 0) {
    const std::size_t at = input.Byte();
    bytes[at] ^= static_cast<std::byte>(input.Byte());
  }
  return bytes;
}

}  // namespace verbena::fuzz
