#include "wire/mad/mad_header.h"

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/text.h"

namespace verbena::wire {

std::optional<MadHeader> MadHeader::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSize>::From(bytes);
  if (!reader || reader->Load8<0>() != kBaseVersion) return std::nullopt;
  return MadHeader{.management_class = reader->Load8<1>(),
                   .class_version = reader->Load8<2>(),
                   .method = reader->Load8<3>(),
                   .status = reader->Load16<4>(),
                   .class_specific = reader->Load16<6>(),
                   .transaction = TransactionId(reader->Load64<8>()),
                   .attribute = reader->Load16<16>(),
                   .attribute_modifier = reader->Load32<20>()};
}

void MadHeader::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSize> writer(bytes);
  writer.Store8<0>(kBaseVersion);
  writer.Store8<1>(management_class);
  writer.Store8<2>(class_version);
  writer.Store8<3>(method);
  writer.Store16<4>(status);
  writer.Store16<6>(class_specific);
  writer.Store64<8>(transaction.value());
  writer.Store16<16>(attribute);
  writer.Store16<18>(0);
  writer.Store32<20>(attribute_modifier);
}

std::string ToString(const MadHeader& header) {
  return "MAD class " + Hex(header.management_class, 2) + ", method " + Hex(header.method, 2) +
         ", attribute " + Hex(header.attribute, 4) + ", transaction " +
         Hex(header.transaction.value(), 16);
}

}  // namespace verbena::wire
