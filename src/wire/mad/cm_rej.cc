#include "wire/mad/cm_rej.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/mad/bits.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<CmRej> CmRej::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  const CmRej message{.local_comm_id = CommId(reader->Load32<0>()),
                      .remote_comm_id = CommId(reader->Load32<4>()),
                      .rejected = static_cast<CmSubject>(BitsOf<0, 2>(reader->Load8<8>())),
                      .info_length = BitsOf<0, 7>(reader->Load8<9>()),
                      .reason = static_cast<CmRejectReason>(reader->Load16<10>()),
                      .info = PrivateData<72>::Load(bytes.subspan(12)),
                      .private_data = PrivateData<148>::Load(bytes.subspan(84))};
  if (!IsDefined(message.rejected) || message.info_length > PrivateData<72>::kSize) {
    return std::nullopt;
  }
  return message;
}

void CmRej::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  writer.Store32<0>(local_comm_id.value());
  writer.Store32<4>(remote_comm_id.value());
  writer.Store8<8>(PackBits({{static_cast<uint8_t>(rejected), 2}}));
  writer.Store8<9>(PackBits({{info_length, 7}}));
  writer.Store16<10>(static_cast<uint16_t>(reason));
  info.Store(bytes.subspan(12));
  private_data.Store(bytes.subspan(84));
}

std::string ToString(const CmRej& message) {
  return "REJ local id " + Hex(message.local_comm_id.value(), 8) + ", remote id " +
         Hex(message.remote_comm_id.value(), 8) + ", of " + NameOf(message.rejected) + ", reason " +
         NameOf(message.reason);
}

}  // namespace verbena::wire
