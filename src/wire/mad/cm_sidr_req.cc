#include "wire/mad/cm_sidr_req.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<CmSidrReq> CmSidrReq::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  return CmSidrReq{.request_id = SidrRequestId(reader->Load32<0>()),
                   .p_key = PKey(reader->Load16<4>()),
                   .service_id = ServiceId(reader->Load64<8>()),
                   .private_data = PrivateData<216>::Load(bytes.subspan(16))};
}

void CmSidrReq::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  writer.Store32<0>(request_id.value());
  writer.Store16<4>(p_key.value());
  writer.Store64<8>(service_id.value());
  private_data.Store(bytes.subspan(16));
}

std::string ToString(const CmSidrReq& message) {
  return "SIDR_REQ request " + Hex(message.request_id.value(), 8) + ", service " +
         Hex(message.service_id.value(), 16);
}

}  // namespace verbena::wire
