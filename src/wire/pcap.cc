#include "wire/pcap.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace verbena::wire {
namespace {

// Collects the fields of a block, in the byte order of the writer, which the first block records.
// Ethernet fields are added as bytes.
class Fields {
 public:
  template <class T>
  Fields& Add(T value) {
    return AddBytes(std::as_bytes(std::span(&value, 1)));
  }
  Fields& AddBytes(std::span<const std::byte> bytes) {
    CHECK(bytes.size() <= bytes_.size() - size_);
    std::memcpy(bytes_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
    return *this;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, 128> bytes_;  // longer than the fields of any block before its payload
  std::size_t size_ = 0;
};

constexpr uint32_t kSectionHeaderBlock = 0x0A0D0D0A;
constexpr uint32_t kInterfaceDescriptionBlock = 1;
constexpr uint32_t kEnhancedPacketBlock = 6;

Fields SectionHeader() {
  constexpr uint32_t kSize = 28;
  return Fields()
      .Add(kSectionHeaderBlock)
      .Add(kSize)
      .Add(uint32_t{0x1A2B3C4D})  // byte order magic
      .Add(uint16_t{1})           // version 1.0
      .Add(uint16_t{0})
      .Add(int64_t{-1})  // length of the section: unspecified
      .Add(kSize);
}

Fields InterfaceDescription() {
  constexpr uint32_t kSize = 32;
  return Fields()
      .Add(kInterfaceDescriptionBlock)
      .Add(kSize)
      .Add(uint16_t{1})  // Ethernet
      .Add(uint16_t{0})
      .Add(uint32_t{0})  // snap length: packets are not truncated
      .Add(uint16_t{9})  // option if_tsresol: one byte, padded to 4
      .Add(uint16_t{1})
      .Add(uint32_t{BigEndian(uint32_t{9} << 24)})  // 10^-9 seconds
      .Add(uint32_t{0})                             // end of options
      .Add(kSize);
}

// A locally administered address, which belongs to no vendor.
std::array<std::byte, 6> EthernetAddress(const IpAddress& address) {
  std::array<std::byte, 6> ethernet{std::byte{0x02}};
  std::memcpy(&ethernet[2], &address.bytes[12], 4);
  return ethernet;
}

Fields EthernetHeader(const IpAddress& source, const IpAddress& destination) {
  const uint16_t type = source.ipv4() ? 0x0800 : 0x86DD;
  return Fields()
      .AddBytes(EthernetAddress(destination))
      .AddBytes(EthernetAddress(source))
      .Add(BigEndian(type));
}

}  // namespace

PcapngWriter::PcapngWriter(ByteSink sink) : sink_(std::move(sink)) {
  sink_(SectionHeader().bytes());
  sink_(InterfaceDescription().bytes());
}

void PcapngWriter::WriteUdp(Time time, const UdpFlow& flow, std::span<const std::byte> payload,
                            const IpFields& ip) {
  const IpUdpHeaders headers = flow.HeadersFor(payload.size(), ip);
  WriteFrame(time, flow.source, flow.destination, headers.bytes(), payload);
}

void PcapngWriter::WriteTcp(Time time, const IpAddress& source, const IpAddress& destination,
                            const TcpHeader& tcp, std::span<const std::byte> payload) {
  std::array<std::byte, kIpHeaderMax + TcpHeader::kSize> headers;
  const std::size_t ip_size = WriteIpHeader(source, destination, IpProtocol::kTcp,
                                            TcpHeader::kSize + payload.size(), {}, headers);
  tcp.Serialize(std::span(headers).subspan(ip_size));
  WriteFrame(time, source, destination, std::span(headers).first(ip_size + TcpHeader::kSize),
             payload);
}

void PcapngWriter::WriteFrame(Time time, const IpAddress& source, const IpAddress& destination,
                              std::span<const std::byte> headers,
                              std::span<const std::byte> payload) {
  CHECK(time.nanoseconds() >= 0);
  const Fields ethernet = EthernetHeader(source, destination);
  const auto stamp = static_cast<uint64_t>(time.nanoseconds());
  const auto captured =
      static_cast<uint32_t>(ethernet.bytes().size() + headers.size() + payload.size());
  const uint32_t pad = -captured & 3;
  const uint32_t block_size = 32 + captured + pad;

  sink_(Fields()
            .Add(kEnhancedPacketBlock)
            .Add(block_size)
            .Add(uint32_t{0})  // the interface
            .Add(static_cast<uint32_t>(stamp >> 32))
            .Add(static_cast<uint32_t>(stamp))
            .Add(captured)
            .Add(captured)  // its length on the wire
            .AddBytes(ethernet.bytes())
            .AddBytes(headers)
            .bytes());
  sink_(payload);
  constexpr std::array<std::byte, 3> kPad{};
  sink_(Fields().AddBytes(std::span(kPad).first(pad)).Add(block_size).bytes());
}

}  // namespace verbena::wire
