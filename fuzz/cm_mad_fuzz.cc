// Parses any bytes as a MAD of the connection manager. Serializing a parsed MAD must give bytes
// that parse to the same value; they are the same bytes, except for reserved ones.

#include <cstdint>
#include <span>
#include <variant>

#include "base/check.h"
#include "wire/mad/cm_mad.h"
#include "wire/mad/ip_cm.h"

namespace {

using namespace verbena::wire;

void CheckIpCm(std::span<const std::byte> private_data) {
  const auto header = IpCmHeader::Parse(private_data);
  if (!header) return;
  CHECK(!ToString(*header).empty());
  std::array<std::byte, IpCmHeader::kSize> bytes;
  header->Serialize(bytes);
  CHECK(IpCmHeader::Parse(bytes) == header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto mad = CmMad::Parse(std::as_bytes(std::span(data, size)));
  if (!mad) return 0;
  CHECK(!ToString(*mad).empty());
  const auto bytes = mad->ToBytes();
  const auto again = CmMad::Parse(bytes);
  CHECK(again == mad);
  // The first serialization has cleared reserved bits, so another one gives the same bytes.
  CHECK(again->ToBytes() == bytes);
  std::visit([](const auto& message) { CheckIpCm(message.private_data.bytes); }, mad->message);
  return 0;
}
