#include "sim/transmitter.h"

#include <cstring>

#include "base/check.h"
#include "memory/copier.h"
#include "wire/roce/packet.h"

namespace verbena::sim {
namespace {

// As it goes on the wire, but for the ICRC.
Result<std::vector<std::byte>, memory::MachineAddress> BytesOf(const transport::OutPacket& packet) {
  std::vector<std::byte> bytes(packet.header_size + packet.payload_size +
                               wire::PadFor(packet.payload_size) + wire::kIcrcSize);
  std::memcpy(bytes.data(), packet.header.data(), packet.header_size);
  const auto payload = std::span(bytes).subspan(packet.header_size, packet.payload_size);
  if (!packet.inlined.empty()) {
    std::memcpy(payload.data(), packet.inlined.data(), payload.size());
  } else if (!payload.empty()) {
    if (const auto gone = memory::CopyOut(payload, packet.payload).fault) return Fail(*gone);
  }
  return bytes;
}

uint64_t Mix(uint64_t digest, uint64_t value) {
  return (digest ^ value) * 0x9E3779B97F4A7C15u + (digest >> 29);
}

}  // namespace

Result<std::vector<std::byte>, memory::MachineAddress> Transmitter::Send(
    Time now, uint32_t from, uint32_t to, const transport::OutPacket& packet) {
  auto bytes = BytesOf(packet);
  if (!bytes) return bytes;
  for (size_t i = 0; i < bytes->size(); i += 7) {
    counters_.digest = Mix(counters_.digest, std::to_integer<uint64_t>((*bytes)[i]));
  }
  ++counters_.packets;
  const auto parsed = wire::Packet::Parse(*bytes);
  CHECK(parsed.has_value());
  network_.Send(now, from, to, parsed->bth().dest_qp, *bytes);
  return bytes;
}

void Transmitter::RequestPages(Time now, const transport::PageRequest& request) {
  ++counters_.page_requests;
  const Duration longest = is_calm_ ? Microseconds(100) : swarm_.page_in_max;
  const auto time = Nanoseconds(
      static_cast<int64_t>(1 + random_.Below(static_cast<uint64_t>(longest.nanoseconds()))));
  const bool fails = !is_calm_ && random_.Chance(swarm_.page_in_failure, 1000);
  network_.Add(now + time,
               {.qp = request.qp, .packet = {}, .request = request, .available = !fails});
}

}  // namespace verbena::sim
