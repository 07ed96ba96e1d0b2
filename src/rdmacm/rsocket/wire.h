#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "verbena/ip_address.h"

// What rsockets exchange, in the format of rdma-core (librdmacm/docs/rsocket). Fields are
// big-endian unless a comment says otherwise.
namespace verbena::rsockets {

// A message of 32 bits: the immediate data of an RDMA write.
//
//    31 29 28                        0
//   +-----+---------------------------+
//   | op  | value                     |
//   +-----+---------------------------+
//
// Without immediate data (iWARP), a SEND of 4 bytes in the sender's byte order follows the write.
enum class MessageOp : uint8_t {
  kData = 0,     // value: bytes written to the current target
  kWrite = 2,    // never sent: a completion of riowrite
  kCredits = 4,  // value, low 16 bits: data messages that the peer has room for since the
                 // beginning; an entry of the target list may have been written with it
  kIomap = 6,    // value, low 16 bits: the entry of the iomap list written with it
  kControl = 7,  // value: a ControlCode
};

enum class ControlCode : uint32_t {
  kDisconnect = 0,  // the sender neither sends nor receives any more
  kKeepalive = 1,   // only in the id of a work request: the keepalive is an empty RDMA write
  kShutdown = 2,    // the sender sends no more data
};

// A value type.
struct Message {
  static constexpr uint32_t kValueMax = (1U << 29) - 1;

  MessageOp op{};
  uint32_t value = 0;

  [[nodiscard]] static constexpr Message Unpack(uint32_t word) {
    return {.op = static_cast<MessageOp>(word >> 29), .value = word & kValueMax};
  }
  [[nodiscard]] constexpr uint32_t Pack() const {
    return uint32_t{static_cast<uint8_t>(op)} << 29 | (value & kValueMax);
  }

  friend bool operator==(const Message&, const Message&) = default;
};

// A range of the peer's memory that this side may write, or of ours that the peer may write.
//
//   byte  bits  field
//      0    64  address
//      8    32  rkey
//     12    32  length
//
// In the target list and the iomap list, fields are in the byte order of the memory's owner. A
// value type.
struct RemoteBuffer {
  static constexpr std::size_t kSize = 16;

  uint64_t address = 0;
  uint32_t rkey = 0;
  uint32_t length = 0;

  // REQUIRES: kSize bytes.
  [[nodiscard]] static RemoteBuffer Parse(std::span<const std::byte> bytes, std::endian order);
  void Serialize(std::span<std::byte> bytes, std::endian order) const;

  friend bool operator==(const RemoteBuffer&, const RemoteBuffer&) = default;
};

// An entry of the iomap list: `offset`, by which the program names the range, and the range.
//
//   byte  bits  field
//      0    64  offset
//      8   128  buffer
//
// A value type.
struct IomapEntry {
  static constexpr std::size_t kSize = 8 + RemoteBuffer::kSize;

  uint64_t offset = 0;
  RemoteBuffer buffer{};

  // REQUIRES: kSize bytes.
  [[nodiscard]] static IomapEntry Parse(std::span<const std::byte> bytes, std::endian order);
  void Serialize(std::span<std::byte> bytes, std::endian order) const;

  friend bool operator==(const IomapEntry&, const IomapEntry&) = default;
};

// The private data of the connection request and of the reply to it.
//
//   byte  bits  field
//      0     8  version (1)
//      1     8  flags: 1 "I am big-endian", 2 "I know iomaps"
//      2    16  credits: data messages that the sender has room for
//      4    24  reserved
//      7     8  target_iomap_size: entries of the iomap list behind the target list, scaled
//      8   128  target_sgl: the target list; its length counts entries
//     24   128  data_buf: the first receive buffer, which is entry 0 of the other side's list
//
// A value type.
struct ConnectionHeader {
  static constexpr std::size_t kSize = 40;
  static constexpr uint8_t kVersion = 1;

  std::endian order = std::endian::native;
  bool knows_iomaps = true;
  uint16_t credits = 0;
  uint16_t iomap_size = 0;
  RemoteBuffer target_list{};
  RemoteBuffer data_buffer{};

  // nullopt if the bytes are too few, the version is another, or the target list is empty.
  [[nodiscard]] static std::optional<ConnectionHeader> Parse(std::span<const std::byte> bytes);
  // REQUIRES: kSize bytes.
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const ConnectionHeader&, const ConnectionHeader&) = default;
};

// The number of iomap entries in 8 bits: exact up to 128, above in units of 256. Scale rounds down;
// both sides use Unscale(Scale(n)).
[[nodiscard]] uint8_t ScaleIomapSize(uint16_t entries);
[[nodiscard]] uint16_t UnscaleIomapSize(uint8_t scaled);

// An address and a port, of IPv4 or IPv6. A value type.
struct DatagramAddress {
  IpAddress address{};
  uint16_t port = 0;

  friend bool operator==(const DatagramAddress&, const DatagramAddress&) = default;
};

// In front of the payload of each message between UD queue pairs: where it is from.
//
//   byte  bits  field
//      0     8  version: 4 or 6
//      1     8  length of this header: 8 or 24
//      2    16  port
//      4    32  IPv4: the address                IPv6: flow information
//      8   128                                   IPv6: the address
//
// A value type.
struct DatagramHeader {
  static constexpr std::size_t kIpv4Size = 8;
  static constexpr std::size_t kIpv6Size = 24;

  DatagramAddress source{};

  [[nodiscard]] std::size_t size() const;
  // nullopt if the bytes are neither of the two headers.
  [[nodiscard]] static std::optional<DatagramHeader> Parse(std::span<const std::byte> bytes);
  // REQUIRES: size() bytes.
  void Serialize(std::span<std::byte> bytes) const;
};

// Precedes the payload of each datagram between UDP sockets, and carries the queue pair number of
// the sender.
//
//   byte  bits  field
//      0    32  tag (0x55555555)
//      4     8  version: 4 or 6
//      5     8  op: 0 data, 7 control; the reply to a data message is a control message
//      6     8  length of this header: 16 or 28
//      7     8  reserved
//      8    32  qpn
//     12    32  IPv4: the sender's address
//     12   128  IPv6: the sender's address
//
// rdma-core ignores the address, and sends the wrong bytes for IPv6. A value type.
struct DatagramUdpHeader {
  static constexpr std::size_t kIpv4Size = 16;
  static constexpr std::size_t kIpv6Size = 28;
  static constexpr uint32_t kTag = 0x55555555;

  MessageOp op = MessageOp::kData;
  uint32_t qpn = 0;
  IpAddress address{};

  [[nodiscard]] std::size_t size() const;
  // nullopt if the bytes are neither of the two headers.
  [[nodiscard]] static std::optional<DatagramUdpHeader> Parse(std::span<const std::byte> bytes);
  // REQUIRES: size() bytes.
  void Serialize(std::span<std::byte> bytes) const;
};

}  // namespace verbena::rsockets
