#include "wire/mad/cm_path.h"

#include <cstring>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/check.h"
#include "wire/mad/bits.h"

namespace verbena::wire {
namespace {

using Reader = ByteReader<CmPath::kSize>;
using Writer = ByteWriter<CmPath::kSize>;

// A GID has the same byte order in a path and in memory.
IpAddress LoadGid(std::span<const std::byte> bytes) {
  IpAddress gid;
  CHECK(bytes.size() >= gid.bytes.size());
  std::memcpy(gid.bytes.data(), bytes.data(), gid.bytes.size());
  return gid;
}

void StoreGid(const IpAddress& gid, std::span<std::byte> bytes) {
  CHECK(bytes.size() >= gid.bytes.size());
  std::memcpy(bytes.data(), gid.bytes.data(), gid.bytes.size());
}

// The fields that REQ and LAP have at the same offset.
CmPath ParseCommon(const Reader& reader, std::span<const std::byte> bytes) {
  return {.local_lid = Lid(reader.Load16<0>()),
          .remote_lid = Lid(reader.Load16<2>()),
          .local_gid = LoadGid(bytes.subspan(4)),
          .remote_gid = LoadGid(bytes.subspan(20)),
          .flow_label = reader.Load24<36>() >> 4,
          .sl = BitsOf<0, 4>(reader.Load8<42>()),
          .subnet_local = BitsOf<4, 1>(reader.Load8<42>()) != 0,
          .ack_timeout = AckTimeout(BitsOf<0, 5>(reader.Load8<43>()))};
}

void SerializeCommon(const CmPath& path, Writer& writer, std::span<std::byte> bytes) {
  CHECK(path.flow_label >> 20 == 0 && path.packet_rate >> 6 == 0);
  writer.Store16<0>(path.local_lid.value());
  writer.Store16<2>(path.remote_lid.value());
  StoreGid(path.local_gid, bytes.subspan(4));
  StoreGid(path.remote_gid, bytes.subspan(20));
  writer.Store24<36>(path.flow_label << 4);
  writer.Store8<42>(PackBits({{path.sl, 4}, {uint8_t{path.subnet_local}, 1}}));
  writer.Store8<43>(PackBits({{path.ack_timeout.value(), 5}}));
}

}  // namespace

CmPath CmPath::ParseReq(std::span<const std::byte> bytes) {
  const auto reader = Reader::From(bytes);
  CHECK(reader.has_value());
  CmPath path = ParseCommon(*reader, bytes);
  path.packet_rate = BitsOf<2, 6>(reader->Load8<39>());
  path.traffic_class = reader->Load8<40>();
  path.hop_limit = reader->Load8<41>();
  return path;
}

CmPath CmPath::ParseLap(std::span<const std::byte> bytes) {
  const auto reader = Reader::From(bytes);
  CHECK(reader.has_value());
  CmPath path = ParseCommon(*reader, bytes);
  path.traffic_class = reader->Load8<39>();
  path.hop_limit = reader->Load8<40>();
  path.packet_rate = BitsOf<2, 6>(reader->Load8<41>());
  return path;
}

void CmPath::SerializeReq(std::span<std::byte> bytes) const {
  Writer writer(bytes);
  SerializeCommon(*this, writer, bytes);
  writer.Store8<39>(packet_rate);
  writer.Store8<40>(traffic_class);
  writer.Store8<41>(hop_limit);
}

void CmPath::SerializeLap(std::span<std::byte> bytes) const {
  Writer writer(bytes);
  SerializeCommon(*this, writer, bytes);
  writer.Store8<39>(traffic_class);
  writer.Store8<40>(hop_limit);
  writer.Store8<41>(packet_rate);
}

}  // namespace verbena::wire
