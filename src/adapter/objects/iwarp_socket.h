#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "adapter/objects/sctp_stream.h"
#include "base/check.h"
#include "base/error.h"
#include "base/result.h"
#include "fabric/tcp/tcp_socket.h"

namespace verbena::adapter {

// The socket of a stream, or of a listener: TCP, or a session on SCTP. Both have the calls of
// fabric::TcpSocket.
//
// Owned by a stream or an id; under the engine's lock.
class IwarpSocket {
 public:
  IwarpSocket() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a TCP socket is one
  IwarpSocket(fabric::TcpSocket tcp) : tcp_(std::move(tcp)) {}
  explicit IwarpSocket(std::unique_ptr<SctpStream> sctp) : sctp_(std::move(sctp)) {}

  [[nodiscard]] bool is_open() const { return sctp_ != nullptr || tcp_.is_open(); }
  // nullptr: TCP.
  [[nodiscard]] SctpStream* sctp() const { return sctp_.get(); }
  [[nodiscard]] const fabric::TcpSocket& tcp() const { return tcp_; }

  [[nodiscard]] ErrorOr<void> Listen(uint32_t backlog) const {
    return sctp_ ? sctp_->socket().Listen() : tcp_.Listen(backlog);
  }
  [[nodiscard]] ErrorOr<std::optional<IwarpSocket>> Accept() const {
    return sctp_ ? AcceptSctp() : AcceptTcp();
  }
  [[nodiscard]] ErrorOr<void> Connect(const CmAddress& to) const {
    return sctp_ ? sctp_->socket().Connect(to) : tcp_.Connect(to);
  }
  [[nodiscard]] int ConnectError() const {
    return sctp_ ? sctp_->socket().ConnectError() : tcp_.ConnectError();
  }
  [[nodiscard]] fabric::TcpTransfer Read(std::span<std::byte> into) const {
    return sctp_ ? sctp_->Read(into) : tcp_.Read(into);
  }
  // Room that a read needs to go on.
  [[nodiscard]] size_t read_min() const { return sctp_ ? fabric::SctpSocket::kMessageMax : 1; }
  [[nodiscard]] fabric::TcpTransfer Write(
      const std::array<std::span<const std::byte>, 2>& pieces) const {
    return sctp_ ? sctp_->Write(pieces) : tcp_.Write(pieces);
  }
  void CloseWrites() const { sctp_ ? sctp_->CloseWrites() : tcp_.CloseWrites(); }
  // Ends a plain stream in the middle: those are TCP.
  void Reset() const {
    CHECK(!sctp_);
    tcp_.Reset();
  }

  [[nodiscard]] CmAddress local() const { return sctp_ ? sctp_->socket().local() : tcp_.local(); }
  [[nodiscard]] CmAddress peer() const { return sctp_ ? sctp_->socket().peer() : tcp_.peer(); }

  // The agreement of a set-up, as this kind of stream has it.
  void Adjust(transport::StreamConfig& config) const {
    if (sctp_) sctp_->Adjust(config);
  }

 private:
  ErrorOr<std::optional<IwarpSocket>> AcceptTcp() const {
    auto accepted = tcp_.Accept();
    if (!accepted) return Fail(accepted.error());
    if (!*accepted) return std::nullopt;
    return IwarpSocket(std::move(**accepted));
  }
  std::optional<IwarpSocket> AcceptSctp() const {
    auto accepted = sctp_->socket().Accept();
    if (!accepted) return std::nullopt;
    return IwarpSocket(std::make_unique<SctpStream>(
        std::move(*accepted), transport::DdpRole::kResponder, sctp_->scratch()));
  }

  fabric::TcpSocket tcp_;
  std::unique_ptr<SctpStream> sctp_;
};

}  // namespace verbena::adapter
