#include "wire/mad/cm_rep.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/mad/bits.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<CmRep> CmRep::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  return CmRep{.local_comm_id = CommId(reader->Load32<0>()),
               .remote_comm_id = CommId(reader->Load32<4>()),
               .local_q_key = QKey(reader->Load32<8>()),
               .local_qp = QpNumber(reader->Load24<12>()),
               .ece = {.vendor_id = uint32_t{reader->Load8<15>()} << 16 |
                                    uint32_t{reader->Load8<19>()} << 8 | reader->Load8<23>()},
               .local_eecn = EeContext(reader->Load24<16>()),
               .starting_psn = Psn(reader->Load24<20>()),
               .responder_resources = reader->Load8<24>(),
               .initiator_depth = reader->Load8<25>(),
               .target_ack_delay = CmTimeout(BitsOf<0, 5>(reader->Load8<26>())),
               .failover = BitsOf<5, 2>(reader->Load8<26>()),
               .flow_control = BitsOf<7, 1>(reader->Load8<26>()) != 0,
               .rnr_retry_count = BitsOf<0, 3>(reader->Load8<27>()),
               .srq = BitsOf<3, 1>(reader->Load8<27>()) != 0,
               .local_ca_guid = CaGuid(reader->Load64<28>()),
               .private_data = PrivateData<196>::Load(bytes.subspan(36))};
}

void CmRep::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  writer.Store32<0>(local_comm_id.value());
  writer.Store32<4>(remote_comm_id.value());
  writer.Store32<8>(local_q_key.value());
  writer.Store24<12>(local_qp.value());
  writer.Store8<15>(static_cast<uint8_t>(ece.vendor_id >> 16));
  writer.Store24<16>(local_eecn.value());
  writer.Store8<19>(static_cast<uint8_t>(ece.vendor_id >> 8));
  writer.Store24<20>(starting_psn.value());
  writer.Store8<23>(static_cast<uint8_t>(ece.vendor_id));
  writer.Store8<24>(responder_resources);
  writer.Store8<25>(initiator_depth);
  writer.Store8<26>(
      PackBits({{target_ack_delay.value(), 5}, {failover, 2}, {uint8_t{flow_control}, 1}}));
  writer.Store8<27>(PackBits({{rnr_retry_count, 3}, {uint8_t{srq}, 1}}));
  writer.Store64<28>(local_ca_guid.value());
  private_data.Store(bytes.subspan(36));
}

std::string ToString(const CmRep& message) {
  return "REP local id " + Hex(message.local_comm_id.value(), 8) + ", remote id " +
         Hex(message.remote_comm_id.value(), 8) + ", QP " + Hex(message.local_qp.value(), 6) +
         ", PSN " + Hex(message.starting_psn.value(), 6);
}

}  // namespace verbena::wire
