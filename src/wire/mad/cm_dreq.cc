#include "wire/mad/cm_dreq.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<CmDreq> CmDreq::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  return CmDreq{.local_comm_id = CommId(reader->Load32<0>()),
                .remote_comm_id = CommId(reader->Load32<4>()),
                .remote_qp = QpNumber(reader->Load24<8>()),
                .private_data = PrivateData<220>::Load(bytes.subspan(12))};
}

void CmDreq::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  writer.Store32<0>(local_comm_id.value());
  writer.Store32<4>(remote_comm_id.value());
  writer.Store24<8>(remote_qp.value());
  private_data.Store(bytes.subspan(12));
}

std::string ToString(const CmDreq& message) {
  return "DREQ local id " + Hex(message.local_comm_id.value(), 8) + ", remote id " +
         Hex(message.remote_comm_id.value(), 8) + ", QP " + Hex(message.remote_qp.value(), 6);
}

}  // namespace verbena::wire
