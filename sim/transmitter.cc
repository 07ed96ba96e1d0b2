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
  losses_.OnTime(now);
  const size_t size = packet.header_size + packet.payload_size;
  const bool is_single = packet.single || losses_.SendsSingly(PathOf(from, to, size));
  if (!CanJoin(from, to, is_single, bytes->size())) Flush(now);
  message_.from = from;
  message_.to = to;
  message_.is_single = is_single;
  message_.segments.push_back(*bytes);
  return bytes;
}

// See fabric::TransmitBurst: the same route, the same size, and only the last may be smaller.
bool Transmitter::CanJoin(uint32_t from, uint32_t to, bool is_single, size_t size) const {
  if (message_.segments.empty()) return true;
  const size_t first = message_.segments.front().size();
  return !is_single && !message_.is_single && from == message_.from && to == message_.to &&
         size <= first && message_.segments.back().size() == first;
}

void Transmitter::Flush(Time now) {
  const size_t count = message_.segments.size();
  if (swarm_.segments_max > 0 && count > swarm_.segments_max) {
    counters_.segments_lost += count;
  } else {
    for (const std::vector<std::byte>& bytes : message_.segments) {
      const auto parsed = wire::Packet::Parse(bytes);
      CHECK(parsed.has_value());
      network_.Send(now, message_.from, message_.to, parsed->bth().dest_qp, bytes);
    }
  }
  message_.segments.clear();
}

transport::SegmentPath Transmitter::PathOf(uint32_t from, uint32_t to, size_t bytes) const {
  return {wire::IpAddress::FromIpv4(Network::AddressOf(swarm_, from)),
          wire::IpAddress::FromIpv4(Network::AddressOf(swarm_, to)), bytes};
}

void Transmitter::Learn(Time now, uint32_t from, uint32_t to,
                        const transport::SegmentReport& report) {
  if (report.fate == transport::SegmentReport::Fate::kArrived) {
    losses_.OnArrived(PathOf(from, to, report.bytes), report.packets);
  } else if (losses_.OnLost(PathOf(from, to, report.bytes), report.packets, now)) {
    ++counters_.paths_single;
  }
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
