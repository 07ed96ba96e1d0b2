#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/check.h"
#include "wire/roce/bth.h"
#include "wire/roce/icrc.h"
#include "wire/roce/opcode.h"

namespace verbena::wire {

// A parsed RoCE packet, from the base transport header to the ICRC. Parse has checked length, pad
// and opcode. PayloadFits checks the payload against the path MTU, and IcrcOf computes what the
// ICRC must be. Refers to the bytes, does not own them.
class Packet {
 public:
  // nullopt if the opcode is not defined, if the headers do not fit, or if there is a payload where
  // the opcode has none.
  [[nodiscard]] static std::optional<Packet> Parse(std::span<const std::byte> bytes);

  [[nodiscard]] const OpcodeInfo& info() const { return *info_; }
  [[nodiscard]] const Bth& bth() const { return bth_; }

  // One of the extension headers, as in Get<Reth>(): nullopt if the opcode has none, or if it holds
  // a reserved value.
  template <class Header>
  [[nodiscard]] std::optional<Header> Get() const {
    static_assert(Header::kSize == kExtensionSizes[static_cast<std::size_t>(Header::kExtension)]);
    const std::size_t offset = info_->offset(Header::kExtension);
    if (offset == 0) return std::nullopt;
    return Header::Parse(bytes_.subspan(offset, Header::kSize));
  }

  // The payload without the pad.
  [[nodiscard]] std::span<const std::byte> payload() const {
    return bytes_.subspan(info_->header_size, payload_size_);
  }

  // The part of the packet that the ICRC covers.
  [[nodiscard]] std::span<const std::byte> covered() const {
    return bytes_.first(bytes_.size() - kIcrcSize);
  }
  [[nodiscard]] Icrc icrc() const { return LoadIcrc(bytes_.last(kIcrcSize)); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  // The whole packet, as it was received.
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  Packet(std::span<const std::byte> bytes, const OpcodeInfo& info, const Bth& bth,
         std::size_t payload_size)
      : bytes_(bytes), info_(&info), bth_(bth), payload_size_(payload_size) {}

  std::span<const std::byte> bytes_;
  const OpcodeInfo* info_;
  Bth bth_;
  std::size_t payload_size_;
};

inline std::optional<Packet> Packet::Parse(std::span<const std::byte> bytes) {
  const auto bth = Bth::Parse(bytes);
  if (!bth) return std::nullopt;
  const OpcodeInfo* info = FindOpcode(bth->opcode);
  if (info == nullptr) return std::nullopt;
  // The length of a packet is a multiple of 4 bytes; any other packet was truncated.
  const std::size_t around_payload = info->header_size + bth->pad_count + kIcrcSize;
  if (bytes.size() < around_payload || bytes.size() % 4 != 0) return std::nullopt;
  const std::size_t payload_size = bytes.size() - around_payload;
  if (payload_size != 0 && !info->has_payload()) return std::nullopt;
  return Packet(bytes, *info, *bth, payload_size);
}

// All headers, one behind the other, and the length of the payload.
[[nodiscard]] std::string ToString(const Packet& packet);

// How many zeros fill a payload up to a multiple of 4.
[[nodiscard]] constexpr std::size_t PadFor(std::size_t payload_size) { return -payload_size & 3; }

// Writes the headers of a packet into the caller's buffer. The caller puts the payload behind them,
// or leaves it where it is and gathers. Each header that the opcode has must be added, in any
// order. Refers to the buffer, does not own it.
//
//   PacketBuilder builder(buffer, bth, payload.size());
//   builder.Add(reth);
//   socket.Send(builder.headers(), payload, trailer);
class PacketBuilder {
 public:
  // Sets the opcode and the pad count, whatever `bth` says. REQUIRES: the buffer has room for the
  // headers.
  PacketBuilder(std::span<std::byte> buffer, const OpcodeInfo& info, Bth bth,
                std::size_t payload_size)
      : buffer_(buffer), info_(&info), payload_size_(payload_size), missing_(info.extensions) {
    CHECK(buffer.size() >= info.header_size);
    DCHECK(payload_size == 0 || info.has_payload());
    bth.opcode = info.opcode;
    bth.pad_count = static_cast<uint8_t>(PadFor(payload_size));
    bth.Serialize(buffer_);
  }
  // REQUIRES: the opcode of `bth` is defined.
  PacketBuilder(std::span<std::byte> buffer, const Bth& bth, std::size_t payload_size)
      : PacketBuilder(buffer, internal::RowOf(bth.opcode), bth, payload_size) {}

  template <class Header>
  PacketBuilder& Add(const Header& header) {
    const auto bit = static_cast<uint16_t>(1U << static_cast<unsigned>(Header::kExtension));
    DCHECK((missing_ & bit) != 0);
    missing_ ^= bit;
    header.Serialize(buffer_.subspan(info_->offset(Header::kExtension), Header::kSize));
    return *this;
  }

  [[nodiscard]] std::span<const std::byte> headers() const {
    DCHECK(missing_ == 0);
    return buffer_.first(info_->header_size);
  }
  // Bytes of the pad and the ICRC, which follow the payload.
  [[nodiscard]] std::size_t trailer_size() const { return PadFor(payload_size_) + kIcrcSize; }
  // Bytes of the whole packet.
  [[nodiscard]] std::size_t size() const {
    return info_->header_size + payload_size_ + trailer_size();
  }

 private:
  std::span<std::byte> buffer_;
  const OpcodeInfo* info_;
  std::size_t payload_size_;
  uint16_t missing_;  // extensions not yet added
};

// For a contiguous packet with its headers and payload written: clears the pad, and computes and
// stores the ICRC.
void Seal(std::span<const std::byte> ip_and_udp, std::span<std::byte> packet);

}  // namespace verbena::wire
