#include "adapter/objects/sctp_stream.h"

#include <algorithm>

#include "wire/iwarp/ddp_session.h"

namespace verbena::adapter {

using fabric::TcpTransfer;
using transport::DdpSession;
using End = TcpTransfer::End;

TcpTransfer SctpStream::Read(std::span<std::byte> into) {
  size_t size = 0;
  for (;;) {
    if (const auto done = TakeFront(into, size)) return *done;
    if (has_ended_) return {.bytes = size, .end = End::kClosed};
    const fabric::SctpMessage message = socket_.Receive(scratch_);
    if (message.end != End::kNone) return {.bytes = size, .end = message.end};
    if (!session_.OnMessage(message.protocol, scratch_.first(message.bytes))) {
      return OnMalformed(into, size);
    }
  }
}

// Moves what is in order to `into`, behind its first `size` bytes. A result: nothing more is to be
// read now.
std::optional<TcpTransfer> SctpStream::TakeFront(std::span<std::byte> into, size_t& size) {
  using Kind = DdpSession::Inbound::Kind;
  while (const DdpSession::Inbound* const next = session_.front()) {
    // A stream that is closing reads into less, and drops what it reads.
    if (next->bytes.size() > into.size()) {
      session_.Pop();
      continue;
    }
    if (next->bytes.size() > into.size() - size) return TcpTransfer{.bytes = size};
    std::ranges::copy(next->bytes, into.subspan(size).begin());
    size += next->bytes.size();
    const Kind kind = next->kind;
    session_.Pop();
    has_ended_ = kind == Kind::kEnd;
    has_frame_ = has_frame_ || kind == Kind::kFrame;
    // The connection manager acts on a frame before what is behind it is read.
    if (kind == Kind::kFrame) return TcpTransfer{.bytes = size};
  }
  return std::nullopt;
}

// During the set-up a byte that begins no frame shows that the peer does not keep to the protocol.
TcpTransfer SctpStream::OnMalformed(std::span<std::byte> into, size_t size) const {
  if (has_frame_ || size == into.size()) return {.bytes = size, .end = End::kBroken};
  into[size] = std::byte{0xFF};
  return {.bytes = size + 1, .end = End::kBroken};
}

End SctpStream::Send(const DdpSession::Outbound& message) {
  const End end = socket_.Send(static_cast<uint32_t>(message.protocol), message.message);
  if (end == End::kNone) session_.Sent();
  return end;
}

TcpTransfer SctpStream::Write(const std::array<std::span<const std::byte>, 2>& pieces) {
  size_t size = 0;
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      const auto message = session_.Make(piece);
      const End end = message ? Send(*message) : End::kBroken;
      if (end != End::kNone) return {.bytes = size, .end = end};
      size += message->taken;
      piece = piece.subspan(message->taken);
    }
  }
  return {.bytes = size};
}

// The association ends with its socket, so that the peer can end the session, too.
void SctpStream::CloseWrites() {
  if (const auto end = session_.MakeEnd()) static_cast<void>(Send(*end));
}

void SctpStream::Adjust(transport::StreamConfig& config) const {
  const size_t message_max = socket_.packet_message_max();
  config.framing = transport::StreamFraming::kRecords;
  config.send_markers = config.receive_markers = config.crc = false;
  config.ulpdu_max = static_cast<uint16_t>(
      std::min<size_t>(config.ulpdu_max, message_max - wire::DdpSequence::kSize));
  // The numbers of messages say what comes first: the one that accepts may send at once.
  config.waits_for_first = config.takes_empty_frame = false;
}

}  // namespace verbena::adapter
