#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "transport/cm/cm_event.h"
#include "verbena/cm_event.h"
#include "wire/mad/cm_rep.h"
#include "wire/mad/cm_req.h"
#include "wire/mad/ip_cm.h"

// From the values of the API to the messages of the connection manager, and back.

namespace verbena::adapter {

// Private data that the message has no room for is refused: the most that fits.
template <size_t kBytes>
[[nodiscard]] Result<wire::PrivateData<kBytes>, size_t> ToWire(const CmPrivateData& data) {
  if (data.size > kBytes) return Fail(kBytes);
  return wire::PrivateData<kBytes>::From(data.view());
}

// What of the private data of a REQ and of a SIDR_REQ is left to the consumer.
inline constexpr size_t kReqPrivateData = 92 - wire::IpCmHeader::kSize;
inline constexpr size_t kSidrReqPrivateData = 216 - wire::IpCmHeader::kSize;

// REQUIRES: the private data fits.
[[nodiscard]] wire::CmReq RequestOf(const ConnectionParameters& parameters,
                                    const wire::IpCmService& service,
                                    const wire::IpCmHeader& addresses);
[[nodiscard]] wire::CmSidrReq SidrRequestOf(const ConnectionParameters& parameters,
                                            const wire::IpCmService& service,
                                            const wire::IpCmHeader& addresses);
[[nodiscard]] wire::CmRep ResponseOf(const ConnectionParameters& parameters);

// The event that a consumer gets; its user and request are the caller's to fill in. nullopt for a
// request by IP address without a valid header, or of a service that is not one of IP ports.
[[nodiscard]] std::optional<CmEvent> EventOf(const transport::CmRaisedEvent& raised);

}  // namespace verbena::adapter
