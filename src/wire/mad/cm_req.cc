#include "wire/mad/cm_req.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/mad/bits.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<CmReq> CmReq::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader) return std::nullopt;
  return CmReq{.local_comm_id = CommId(reader->Load32<0>()),
               .ece = {.vendor_id = reader->Load24<5>()},
               .service_id = ServiceId(reader->Load64<8>()),
               .local_ca_guid = CaGuid(reader->Load64<16>()),
               .local_q_key = QKey(reader->Load32<28>()),
               .local_qp = QpNumber(reader->Load24<32>()),
               .responder_resources = reader->Load8<35>(),
               .local_eecn = EeContext(reader->Load24<36>()),
               .initiator_depth = reader->Load8<39>(),
               .remote_eecn = EeContext(reader->Load24<40>()),
               .remote_response_timeout = CmTimeout(BitsOf<0, 5>(reader->Load8<43>())),
               .service_type = static_cast<CmServiceType>(BitsOf<5, 2>(reader->Load8<43>())),
               .flow_control = BitsOf<7, 1>(reader->Load8<43>()) != 0,
               .starting_psn = Psn(reader->Load24<44>()),
               .local_response_timeout = CmTimeout(BitsOf<0, 5>(reader->Load8<47>())),
               .retry_count = BitsOf<5, 3>(reader->Load8<47>()),
               .p_key = PKey(reader->Load16<48>()),
               .path_mtu = CmMtu(BitsOf<0, 4>(reader->Load8<50>())),
               .rdc_exists = BitsOf<4, 1>(reader->Load8<50>()) != 0,
               .rnr_retry_count = BitsOf<5, 3>(reader->Load8<50>()),
               .max_cm_retries = BitsOf<0, 4>(reader->Load8<51>()),
               .srq = BitsOf<4, 1>(reader->Load8<51>()) != 0,
               .extended_transport = BitsOf<5, 3>(reader->Load8<51>()),
               .primary = CmPath::ParseReq(bytes.subspan(52, CmPath::kSize)),
               .alternate = CmPath::ParseReq(bytes.subspan(96, CmPath::kSize)),
               .private_data = PrivateData<92>::Load(bytes.subspan(140))};
}

void CmReq::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  std::ranges::fill(bytes.first(kSize), std::byte{0});
  writer.Store32<0>(local_comm_id.value());
  writer.Store24<5>(ece.vendor_id);
  writer.Store64<8>(service_id.value());
  writer.Store64<16>(local_ca_guid.value());
  writer.Store32<28>(local_q_key.value());
  writer.Store24<32>(local_qp.value());
  writer.Store8<35>(responder_resources);
  writer.Store24<36>(local_eecn.value());
  writer.Store8<39>(initiator_depth);
  writer.Store24<40>(remote_eecn.value());
  writer.Store8<43>(PackBits({{remote_response_timeout.value(), 5},
                              {static_cast<uint8_t>(service_type), 2},
                              {uint8_t{flow_control}, 1}}));
  writer.Store24<44>(starting_psn.value());
  writer.Store8<47>(PackBits({{local_response_timeout.value(), 5}, {retry_count, 3}}));
  writer.Store16<48>(p_key.value());
  writer.Store8<50>(
      PackBits({{path_mtu.value(), 4}, {uint8_t{rdc_exists}, 1}, {rnr_retry_count, 3}}));
  writer.Store8<51>(PackBits({{max_cm_retries, 4}, {uint8_t{srq}, 1}, {extended_transport, 3}}));
  primary.SerializeReq(bytes.subspan(52, CmPath::kSize));
  alternate.SerializeReq(bytes.subspan(96, CmPath::kSize));
  private_data.Store(bytes.subspan(140));
}

std::string ToString(const CmReq& message) {
  return "REQ local id " + Hex(message.local_comm_id.value(), 8) + ", service " +
         Hex(message.service_id.value(), 16) + ", QP " + Hex(message.local_qp.value(), 6) +
         ", PSN " + Hex(message.starting_psn.value(), 6);
}

}  // namespace verbena::wire
