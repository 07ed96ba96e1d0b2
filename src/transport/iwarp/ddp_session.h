#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "transport/iwarp/session_control.h"
#include "wire/iwarp/ddp_session.h"
#include "wire/iwarp/types.h"

namespace verbena::transport {

enum class DdpRole : uint8_t { kInitiator, kResponder };

// One end of a DDP stream session on an SCTP association (RFC 5043): between the messages of SCTP,
// which arrive once but in any order, and the bytes of a stream as queue pairs and the connection
// manager know them: an MPA frame, by which each direction begins, and then records.
//
//   set-up frame  <->  session control message   number 0
//   record        <->  segment message           numbers 1, 2, 3, ...
//   end           <->  Terminate                 the last number
//
// It holds messages that arrive ahead of a gap, within bounds that a peer cannot exceed unless its
// numbers lie. Owned by a stream; used by one thread at a time.
class DdpSession {
 public:
  using Bytes = std::vector<std::byte>;

  explicit DdpSession(DdpRole role) : role_(role) {}

  // --- Sending. ---

  struct Outbound {
    wire::DdpProtocol protocol = {};
    std::span<const std::byte> message;  // valid until the next call
    size_t taken = 0;                    // bytes of the stream that it carries
  };
  // The message that carries the first frame or record of `bytes`; nullopt if that is not whole.
  [[nodiscard]] std::optional<Outbound> Make(std::span<const std::byte> bytes);
  // The message by which this end ends the session; nullopt if there is none to end.
  [[nodiscard]] std::optional<Outbound> MakeEnd();
  // SCTP has taken the message that was made last.
  void Sent();

  // --- Receiving. ---

  // What a message in order is.
  struct Inbound {
    enum class Kind : uint8_t { kFrame, kRecord, kEnd };
    Kind kind = Kind::kRecord;
    Bytes bytes = {};
  };

  // A message has arrived. False if the peer does not keep to the protocol: the session is to be
  // given up.
  [[nodiscard]] bool OnMessage(uint32_t protocol, std::span<const std::byte> message);
  // The next in order; nullptr: it has not arrived.
  [[nodiscard]] const Inbound* front() const;
  // REQUIRES: front() != nullptr.
  void Pop();
  // Calls fn(position, record) for each record that has arrived ahead of a gap since the last call.
  template <class Fn>
  void ShowEarly(Fn fn) {
    if (shown_ == arrivals_) return;
    shown_ = arrivals_;
    uint64_t in_order = next_;
    for (auto& [number, held] : held_) {
      if (number == in_order) {
        ++in_order;
        continue;
      }
      if (held.is_shown || held.inbound.kind != Inbound::Kind::kRecord) continue;
      held.is_shown = true;
      fn(wire::StreamOffset(number - 1), std::span<std::byte>(held.inbound.bytes));
    }
  }

  // Messages ahead of a gap, and their bytes.
  static constexpr size_t kHeldMax = 4096;
  static constexpr size_t kHeldBytesMax = size_t{4} << 20;
  [[nodiscard]] size_t held_bytes() const { return held_bytes_; }

 private:
  struct Held {
    Inbound inbound;
    bool is_shown = false;
  };

  std::optional<Inbound> Read(wire::DdpProtocol protocol, uint64_t number,
                              std::span<const std::byte> message) const;

  const DdpRole role_;
  uint64_t next_sent_ = 0;
  bool has_rejected_ = false;
  bool has_ended_ = false;  // this direction
  SessionControlBytes control_;
  Bytes segment_;

  uint64_t next_ = 0;  // the number of the next message in order
  std::map<uint64_t, Held> held_;
  size_t held_bytes_ = 0;
  uint64_t arrivals_ = 0;  // ahead of a gap
  uint64_t shown_ = 0;
  bool peer_has_ended_ = false;
};

}  // namespace verbena::transport
