// Parses any bytes as a message between a broker and a guest. Serializing a parsed message must
// give the same bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "host/protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const auto message = verbena::host::ParsePacket(bytes);
  if (!message) return 0;
  const std::vector<std::byte> again = verbena::host::ToPacket(*message);
  CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  return 0;
}
