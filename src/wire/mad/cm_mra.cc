#include "wire/mad/cm_mra.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/mad/bits.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<CmMra> CmMra::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  const CmMra message{.local_comm_id = CommId(reader->Load32<0>()),
                      .remote_comm_id = CommId(reader->Load32<4>()),
                      .received = static_cast<CmSubject>(BitsOf<0, 2>(reader->Load8<8>())),
                      .service_timeout = CmTimeout(BitsOf<0, 5>(reader->Load8<9>())),
                      .private_data = PrivateData<222>::Load(bytes.subspan(10))};
  if (!IsDefined(message.received)) return std::nullopt;
  return message;
}

void CmMra::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  writer.Store32<0>(local_comm_id.value());
  writer.Store32<4>(remote_comm_id.value());
  writer.Store8<8>(PackBits({{static_cast<uint8_t>(received), 2}}));
  writer.Store8<9>(PackBits({{service_timeout.value(), 5}}));
  private_data.Store(bytes.subspan(10));
}

std::string ToString(const CmMra& message) {
  return "MRA local id " + Hex(message.local_comm_id.value(), 8) + ", remote id " +
         Hex(message.remote_comm_id.value(), 8) + ", of " + NameOf(message.received) +
         ", service timeout " + std::to_string(message.service_timeout.value());
}

}  // namespace verbena::wire
