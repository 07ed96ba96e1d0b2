#include "wire/mad/cm_rtu.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<CmRtu> CmRtu::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  return CmRtu{.local_comm_id = CommId(reader->Load32<0>()),
               .remote_comm_id = CommId(reader->Load32<4>()),
               .private_data = PrivateData<224>::Load(bytes.subspan(8))};
}

void CmRtu::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  writer.Store32<0>(local_comm_id.value());
  writer.Store32<4>(remote_comm_id.value());
  private_data.Store(bytes.subspan(8));
}

std::string ToString(const CmRtu& message) {
  return "RTU local id " + Hex(message.local_comm_id.value(), 8) + ", remote id " +
         Hex(message.remote_comm_id.value(), 8);
}

}  // namespace verbena::wire
