#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "fabric/sctp/sctp_checksum.h"

namespace verbena {

// An SCTP peer made by hand, in UDP datagrams from 127.0.0.1: it says what its user wants, right or
// wrong, and holds no state but its numbers. One thread.
class RawSctpPeer {
 public:
  using Bytes = std::vector<std::byte>;

  // Types of chunks (RFC 9260, 3.2).
  enum Type : uint8_t {
    kData = 0,
    kInit = 1,
    kInitAck = 2,
    kSack = 3,
    kAbort = 6,
    kShutdown = 7,
    kCookieEcho = 10,
    kCookieAck = 11,
  };
  // Flags of a DATA chunk.
  enum Flags : uint8_t { kEnding = 1, kBeginning = 2, kWhole = 3, kUnordered = 4 };

  explicit RawSctpPeer(uint16_t to) : to_(to) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    CHECK(bind(file_, reinterpret_cast<sockaddr*>(&at), size) == 0);
    CHECK(getsockname(file_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port_ = ntohs(at.sin_port);
    at.sin_port = htons(to);
    CHECK(connect(file_, reinterpret_cast<sockaddr*>(&at), size) == 0);
  }
  RawSctpPeer(const RawSctpPeer&) = delete;
  RawSctpPeer& operator=(const RawSctpPeer&) = delete;
  ~RawSctpPeer() { close(file_); }

  // --- Chunks. ---

  [[nodiscard]] static Bytes Chunk(uint8_t type, uint8_t flags, const Bytes& value) {
    Bytes chunk = Words(
        {uint32_t{type} << 24 | uint32_t{flags} << 16 | static_cast<uint32_t>(4 + value.size())});
    chunk.insert(chunk.end(), value.begin(), value.end());
    chunk.resize((chunk.size() + 3) / 4 * 4);
    return chunk;
  }
  [[nodiscard]] static Bytes Words(std::initializer_list<uint32_t> words) {
    Bytes bytes;
    for (const uint32_t word : words) {
      for (int shift = 24; shift >= 0; shift -= 8) {
        bytes.push_back(static_cast<std::byte>(word >> shift));
      }
    }
    return bytes;
  }
  // With an adaptation layer indication (RFC 5061, 4.2.6), if there is one.
  [[nodiscard]] Bytes Init(std::optional<uint32_t> adaptation = 1) const {
    Bytes value = Words({kOwnTag, kWindow, 1 << 16 | 1, tsn_});
    if (adaptation) Append(Words({0xC006U << 16 | 8, *adaptation}), value);
    return Chunk(kInit, 0, value);
  }
  [[nodiscard]] Bytes CookieEcho() const { return Chunk(kCookieEcho, 0, cookie_); }
  [[nodiscard]] Bytes Data(uint32_t protocol, const Bytes& message,
                           uint8_t flags = kWhole | kUnordered) {
    Bytes value = Words({tsn_++, 0, protocol});
    Append(message, value);
    return Chunk(kData, flags, value);
  }
  [[nodiscard]] static Bytes Abort() { return Chunk(kAbort, 0, {}); }

  // --- Packets. ---

  [[nodiscard]] Bytes Packet(uint32_t tag, const Bytes& chunks) const {
    Bytes packet = Words({uint32_t{port_} << 16 | to_, tag, 0});
    Append(chunks, packet);
    fabric::SealSctp(packet);
    return packet;
  }
  void SendDatagram(std::span<const std::byte> bytes) const {
    static_cast<void>(send(file_, bytes.data(), bytes.size(), 0));
  }
  // With the tag of the association; an INIT goes without.
  void Send(const Bytes& chunks) const { SendDatagram(Packet(peer_tag_, chunks)); }

  // --- An association. ---

  // Until the listener has answered with a cookie.
  [[nodiscard]] bool Begin(std::optional<uint32_t> adaptation = 1) {
    peer_tag_ = 0;
    Send(Init(adaptation));
    return TakeCookie();
  }
  [[nodiscard]] bool TakeCookie(int milliseconds = 20'000) {
    cookie_.clear();
    const auto answer = Await({kInitAck}, milliseconds);
    if (!answer || answer->size() < 20) return false;
    peer_tag_ = WordAt(*answer, 4);
    for (size_t at = 20; at + 4 <= answer->size();) {
      const uint32_t head = WordAt(*answer, at);
      const size_t size = head & 0xFFFF;
      if (size < 4 || at + size > answer->size()) return false;
      const auto value = std::span(*answer).subspan(at + 4, size - 4);
      if (head >> 16 == kCookie) cookie_.assign(value.begin(), value.end());
      at += (size + 3) / 4 * 4;
    }
    return !cookie_.empty();
  }
  [[nodiscard]] bool Connect(std::optional<uint32_t> adaptation = 1) {
    if (!Begin(adaptation)) return false;
    Send(CookieEcho());
    return Await({kCookieAck}).has_value();
  }
  // The listener ends the association.
  [[nodiscard]] bool IsEnded() { return Await({kAbort, kShutdown}).has_value(); }
  // The next chunk of one of these types; nullopt if none comes in time. Acknowledges messages.
  [[nodiscard]] std::optional<Bytes> Await(std::initializer_list<uint8_t> types,
                                           int milliseconds = 20'000) {
    for (;;) {
      pollfd file{.fd = file_, .events = POLLIN, .revents = 0};
      if (poll(&file, 1, milliseconds) != 1) return std::nullopt;
      std::array<std::byte, 65'536> room;
      const ssize_t count = recv(file_, room.data(), room.size(), 0);
      if (count < 0) return std::nullopt;  // the port is closed
      const Bytes packet(room.begin(), room.begin() + count);
      for (size_t at = 12; at + 4 <= packet.size();) {
        const uint32_t head = WordAt(packet, at);
        const size_t size = head & 0xFFFF;
        if (size < 4 || at + size > packet.size()) break;
        const auto type = static_cast<uint8_t>(head >> 24);
        const Bytes chunk(packet.begin() + static_cast<ptrdiff_t>(at),
                          packet.begin() + static_cast<ptrdiff_t>(at + size));
        if (type == kData && size >= 16)
          Send(Chunk(kSack, 0, Words({WordAt(chunk, 4), kWindow, 0})));
        for (const uint8_t wanted : types) {
          if (type == wanted) return chunk;
        }
        at += (size + 3) / 4 * 4;
      }
    }
  }

  [[nodiscard]] uint32_t peer_tag() const { return peer_tag_; }
  [[nodiscard]] uint16_t port() const { return port_; }

  static void Append(const Bytes& more, Bytes& to) {
    to.insert(to.end(), more.begin(), more.end());
  }
  [[nodiscard]] static uint32_t WordAt(std::span<const std::byte> bytes, size_t at) {
    uint32_t word = 0;
    for (size_t i = 0; i < 4; ++i) word = word << 8 | std::to_integer<uint32_t>(bytes[at + i]);
    return word;
  }

 private:
  static constexpr uint32_t kOwnTag = 0x5C7B5C7B;
  static constexpr uint32_t kWindow = 1 << 20;
  static constexpr uint32_t kCookie = 7;  // a parameter of INIT ACK

  const int file_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const uint16_t to_;
  uint16_t port_ = 0;
  uint32_t tsn_ = 100;
  uint32_t peer_tag_ = 0;
  Bytes cookie_;
};

}  // namespace verbena
