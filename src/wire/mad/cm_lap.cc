#include "wire/mad/cm_lap.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/mad/bits.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<CmLap> CmLap::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  return CmLap{.local_comm_id = CommId(reader->Load32<0>()),
               .remote_comm_id = CommId(reader->Load32<4>()),
               .remote_qp = QpNumber(reader->Load24<12>()),
               .remote_response_timeout = CmTimeout(BitsOf<0, 5>(reader->Load8<15>())),
               .alternate = CmPath::ParseLap(bytes.subspan(20, CmPath::kSize)),
               .private_data = PrivateData<168>::Load(bytes.subspan(64))};
}

void CmLap::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  writer.Store32<0>(local_comm_id.value());
  writer.Store32<4>(remote_comm_id.value());
  writer.Store24<12>(remote_qp.value());
  writer.Store8<15>(PackBits({{remote_response_timeout.value(), 5}}));
  alternate.SerializeLap(bytes.subspan(20, CmPath::kSize));
  private_data.Store(bytes.subspan(64));
}

std::string ToString(const CmLap& message) {
  return "LAP local id " + Hex(message.local_comm_id.value(), 8) + ", remote id " +
         Hex(message.remote_comm_id.value(), 8) + ", QP " + Hex(message.remote_qp.value(), 6);
}

}  // namespace verbena::wire
