#include "wire/mad/cm_apr.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<CmApr> CmApr::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  const CmApr message{.local_comm_id = CommId(reader->Load32<0>()),
                      .remote_comm_id = CommId(reader->Load32<4>()),
                      .info_length = reader->Load8<8>(),
                      .status = static_cast<CmAprStatus>(reader->Load8<9>()),
                      .info = PrivateData<72>::Load(bytes.subspan(12)),
                      .private_data = PrivateData<148>::Load(bytes.subspan(84))};
  if (message.info_length > PrivateData<72>::kSize) return std::nullopt;
  return message;
}

void CmApr::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  writer.Store32<0>(local_comm_id.value());
  writer.Store32<4>(remote_comm_id.value());
  writer.Store8<8>(info_length);
  writer.Store8<9>(static_cast<uint8_t>(status));
  info.Store(bytes.subspan(12));
  private_data.Store(bytes.subspan(84));
}

std::string ToString(const CmApr& message) {
  return "APR local id " + Hex(message.local_comm_id.value(), 8) + ", remote id " +
         Hex(message.remote_comm_id.value(), 8) + ", status " +
         std::to_string(static_cast<unsigned>(message.status));
}

}  // namespace verbena::wire
