#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "fabric/sctp/sctp_socket.h"
#include "transport/iwarp/ddp_session.h"
#include "transport/iwarp/iwarp_config.h"

namespace verbena::adapter {

// A DDP stream session (RFC 5043) on an SCTP association, or a listener for some, with the calls of
// a TCP socket: it reads and writes the bytes that DdpSession describes.
//
// Owned by a IwarpSocket; under the engine's lock.
class SctpStream {
 public:
  // `scratch` has room for a message, and is used during a call only.
  SctpStream(fabric::SctpSocket socket, transport::DdpRole role, std::span<std::byte> scratch)
      : socket_(std::move(socket)), session_(role), scratch_(scratch) {}

  [[nodiscard]] fabric::SctpSocket& socket() { return socket_; }
  [[nodiscard]] const fabric::SctpSocket& socket() const { return socket_; }
  [[nodiscard]] std::span<std::byte> scratch() const { return scratch_; }

  [[nodiscard]] fabric::TcpTransfer Read(std::span<std::byte> into);
  [[nodiscard]] fabric::TcpTransfer Write(const std::array<std::span<const std::byte>, 2>& pieces);
  void CloseWrites();

  // What is in order was received, and a read that is too short has left it.
  [[nodiscard]] bool has_more() const { return session_.front() != nullptr; }
  // Calls fn(position, record) for each record that has arrived ahead of a gap since the last call.
  template <class Fn>
  void ShowEarly(Fn fn) {
    session_.ShowEarly(fn);
  }

  // What is agreed on over SCTP: no MPA, and segments that are one packet each.
  void Adjust(transport::StreamConfig& config) const;

 private:
  std::optional<fabric::TcpTransfer> TakeFront(std::span<std::byte> into, size_t& size);
  fabric::TcpTransfer OnMalformed(std::span<std::byte> into, size_t size) const;
  fabric::TcpTransfer::End Send(const transport::DdpSession::Outbound& message);

  fabric::SctpSocket socket_;
  transport::DdpSession session_;
  const std::span<std::byte> scratch_;
  bool has_frame_ = false;  // the peer's set-up was read
  bool has_ended_ = false;  // the peer has ended the session
};

}  // namespace verbena::adapter
