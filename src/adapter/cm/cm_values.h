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

// Converts between the values of the API and the messages of the connection manager.

namespace verbena::adapter {

// Fails if the message has no room for the private data; the error is the maximum length.
template <size_t kBytes>
[[nodiscard]] Result<wire::PrivateData<kBytes>, size_t> ToWire(const CmPrivateData& data) {
  if (data.size > kBytes) return Fail(kBytes);
  return wire::PrivateData<kBytes>::From(data.view());
}

// The room for private data of the consumer in a REQ and in a SIDR_REQ.
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

// The event for the consumer; the caller fills in its user and request. nullopt for a request by IP
// address without a valid header, or for a service that is not an IP port.
[[nodiscard]] std::optional<CmEvent> EventOf(const transport::CmRaisedEvent& raised);

}  // namespace verbena::adapter
