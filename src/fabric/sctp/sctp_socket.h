#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/result.h"
#include "fabric/sctp/sctp_hub.h"
#include "fabric/sctp/sctp_port.h"
#include "fabric/tcp/ready_set.h"
#include "fabric/tcp/tcp_socket.h"
#include "verbena/cm_event.h"

namespace verbena::fabric {

// A message of an SCTP association, or why there is none now.
struct SctpMessage {
  TcpTransfer::End end = TcpTransfer::End::kNone;
  size_t bytes = 0;
  uint32_t protocol = 0;  // payload protocol identifier
};

// A listener of SCTP, or one association: messages that arrive once and whole, in any order (the
// unordered service). Never waits. An association ends gracefully when its socket is destroyed and
// nothing has broken it: what was sent before still arrives.
//
// Its owner guards it.
class SctpSocket {
 public:
  // Bound to an address of this machine; port 0: an ephemeral one. `adaptation`: the indication
  // that both ends must give (RFC 5061, 4.2.6).
  [[nodiscard]] static ErrorOr<SctpSocket> Bind(SctpHub& hub, const CmAddress& address,
                                                uint32_t adaptation,
                                                const SctpBindOptions& options = {});
  SctpSocket();
  SctpSocket(SctpSocket&&) noexcept;
  SctpSocket& operator=(SctpSocket&&) noexcept;
  ~SctpSocket();

  [[nodiscard]] bool is_open() const { return state_ != nullptr; }

  // Which inputs the hub is to report, and as what. To be called again when reported inputs were
  // served: what is left is reported again. `has_more`: the owner has messages that it has received
  // and not read, so it is to be reported for reading.
  void Watch(ReadyId id, Interest wanted, bool has_more = false);

  // --- A listener. ---

  [[nodiscard]] ErrorOr<void> Listen();
  [[nodiscard]] std::optional<SctpSocket> Accept();

  // --- An association. ---

  [[nodiscard]] ErrorOr<void> Connect(const CmAddress& to);
  // How it has ended: 0 if it is connected, EINPROGRESS, or an error of the system.
  [[nodiscard]] int ConnectError() const;

  // REQUIRES: into.size() >= kMessageMax.
  [[nodiscard]] SctpMessage Receive(std::span<std::byte> into);
  // The longest message that can be received. A longer one breaks the association.
  static constexpr size_t kMessageMax = 65'600;
  // kNone: all of it is sent; otherwise nothing.
  [[nodiscard]] TcpTransfer::End Send(uint32_t protocol, std::span<const std::byte> message);
  // The longest message that is one packet on the present path.
  [[nodiscard]] size_t packet_message_max() const;

  [[nodiscard]] CmAddress local() const;
  [[nodiscard]] CmAddress peer() const;

 private:
  friend class SctpHub;
  using State = SctpHub::Association;

  explicit SctpSocket(std::unique_ptr<State> state);
  void Close();

  std::unique_ptr<State> state_;
};

}  // namespace verbena::fabric
