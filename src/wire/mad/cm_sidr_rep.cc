#include "wire/mad/cm_sidr_rep.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<CmSidrRep> CmSidrRep::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  const CmSidrRep message{.request_id = SidrRequestId(reader->Load32<0>()),
                          .status = static_cast<CmSidrStatus>(reader->Load8<4>()),
                          .info_length = reader->Load8<5>(),
                          .qp = QpNumber(reader->Load24<8>()),
                          .service_id = ServiceId(reader->Load64<12>()),
                          .q_key = QKey(reader->Load32<20>()),
                          .info = PrivateData<72>::Load(bytes.subspan(24)),
                          .private_data = PrivateData<136>::Load(bytes.subspan(96))};
  if (message.info_length > PrivateData<72>::kSize) return std::nullopt;
  return message;
}

void CmSidrRep::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  writer.Store32<0>(request_id.value());
  writer.Store8<4>(static_cast<uint8_t>(status));
  writer.Store8<5>(info_length);
  writer.Store24<8>(qp.value());
  writer.Store64<12>(service_id.value());
  writer.Store32<20>(q_key.value());
  info.Store(bytes.subspan(24));
  private_data.Store(bytes.subspan(96));
}

std::string ToString(const CmSidrRep& message) {
  return "SIDR_REP request " + Hex(message.request_id.value(), 8) + ", status " +
         std::to_string(static_cast<unsigned>(message.status)) + ", QP " +
         Hex(message.qp.value(), 6);
}

}  // namespace verbena::wire
