#include "wire/iwarp/rdmap_terminate.h"

#include "base/byte_reader.h"
#include "base/byte_writer.h"

namespace verbena::wire {
namespace {

constexpr uint8_t kHasLength = 0x80;
constexpr uint8_t kHasDdpHeader = 0x40;
constexpr uint8_t kHasRdmapHeader = 0x20;

std::size_t SizeOf(const RdmapTerminate::Header& header) {
  if (std::holds_alternative<DdpTagged>(header)) return DdpTagged::kSize;
  return std::holds_alternative<DdpUntagged>(header) ? DdpUntagged::kSize : 0;
}

// The T bit of the header says which it is. No header if there are too few bytes.
RdmapTerminate::Header HeaderFrom(std::span<const std::byte> bytes) {
  if (const auto tagged = DdpTagged::Parse(bytes)) return *tagged;
  if (const auto untagged = DdpUntagged::Parse(bytes)) return *untagged;
  return {};
}

}  // namespace

std::size_t RdmapTerminate::size() const {
  return kSizeMin + (segment_length ? 2 : 0) + SizeOf(header) +
         (read_request ? RdmapReadRequest::kSize : 0);
}

std::optional<RdmapTerminate> RdmapTerminate::Parse(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kSizeMin>::From(bytes);
  if (!reader) return std::nullopt;
  RdmapTerminate terminate{.code = static_cast<TerminateCode>(reader->Load16<0>())};
  const uint8_t has = reader->Load8<2>();
  std::span<const std::byte> rest = reader->rest();
  if ((has & kHasLength) != 0) {
    const auto length = ByteReader<2>::From(rest);
    if (!length) return std::nullopt;
    terminate.segment_length = length->Load16<0>();
    rest = length->rest();
  }
  if ((has & kHasDdpHeader) != 0) {
    terminate.header = HeaderFrom(rest);
    if (std::holds_alternative<std::monostate>(terminate.header)) return std::nullopt;
    rest = rest.subspan(SizeOf(terminate.header));
  }
  if ((has & kHasRdmapHeader) != 0) {
    terminate.read_request = RdmapReadRequest::Parse(rest);
    if (!terminate.read_request) return std::nullopt;
  }
  return terminate;
}

void RdmapTerminate::Serialize(std::span<std::byte> bytes) const {
  ByteWriter<kSizeMin> writer(bytes);
  writer.Store16<0>(static_cast<uint16_t>(code));
  const int has = (segment_length ? kHasLength : 0) | (SizeOf(header) != 0 ? kHasDdpHeader : 0) |
                  (read_request ? kHasRdmapHeader : 0);
  writer.Store8<2>(static_cast<uint8_t>(has));
  writer.Store8<3>(0);
  std::span<std::byte> rest = writer.rest();
  if (segment_length) {
    ByteWriter<2> length(rest);
    length.Store16<0>(*segment_length);
    rest = length.rest();
  }
  if (const auto* const tagged = std::get_if<DdpTagged>(&header)) tagged->Serialize(rest);
  if (const auto* const untagged = std::get_if<DdpUntagged>(&header)) untagged->Serialize(rest);
  if (read_request) read_request->Serialize(rest.subspan(SizeOf(header)));
}

}  // namespace verbena::wire
