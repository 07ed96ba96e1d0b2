#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rdmacm/rsocket/errno.h"
#include "rdmacm/rsocket/iomap.h"
#include "rdmacm/rsocket/stream_endpoint.h"
#include "rdmacm/rsocket/stream_receiver.h"
#include "rdmacm/rsocket/stream_sender.h"
#include "rdmacm/rsocket/wire.h"

namespace verbena::rsockets {

// A stream between two ends that has a queue pair: connects the sender and the receiver to a
// StreamEndpoint, grants buffers and credits, and knows which directions are open. It never blocks.
// The owner's lock guards it.
class StreamConnection {
 public:
  [[nodiscard]] static ErrnoOr<std::unique_ptr<StreamConnection>> Make(rdma_cm_id* id,
                                                                       const StreamSizes& sizes);

  // The private data for the peer.
  [[nodiscard]] ConnectionHeader header() const;
  // The private data of the peer has arrived: opens the stream.
  void Start(const ConnectionHeader& peer);

  [[nodiscard]] StreamEndpoint& endpoint() const { return *endpoint_; }
  [[nodiscard]] Iomaps& iomaps() { return *iomaps_; }

  // Handles completions, and grants buffers and credits. True if anything has changed. REQUIRES:
  // Start was called, here and below.
  bool Progress();

  // Directions. A connection is over when the peer has disconnected, when this end has disconnected
  // and the peer knows, or when it has failed.
  [[nodiscard]] bool can_read() const { return readable_ && !is_over_; }
  [[nodiscard]] bool can_write() const { return writable_ && !is_over_; }
  [[nodiscard]] bool is_over() const { return is_over_; }
  // Why it has failed; 0 if it has not, or if the error was reported.
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] int TakeError();
  void FailWith(Errno error);
  // The connection manager reports that the peer is gone.
  void OnDisconnected();

  // Closes directions (SHUT_RD, SHUT_WR, SHUT_RDWR), and notifies the peer as soon as possible.
  void Shutdown(int how);
  // The peer has acknowledged everything that was sent, or cannot do so any more.
  [[nodiscard]] bool is_flushed() const;

  [[nodiscard]] const StreamReceiver& receiver() const { return receiver_; }
  [[nodiscard]] StreamSender& sender() { return *sender_; }
  // The program has read `length` bytes.
  void Consume(uint32_t length);

  // Posts a transfer of the sender. Its bytes are in the send buffer, or in `inline_bytes`.
  void PostData(const StreamTransfer& transfer, std::span<const std::byte> inline_bytes);
  void PostDirect(const StreamTransfer& transfer, std::span<const std::byte> inline_bytes);
  // The mapping of the peer that has `offset`.
  [[nodiscard]] std::optional<IomapEntry> FindIomap(uint64_t offset) const;
  // Announces mappings; false if some must wait for the peer.
  bool SendIomaps();
  // Sends an empty write: the peer's queue pair acknowledges it, without an effect on the program.
  void SendKeepalive();

 private:
  explicit StreamConnection(std::unique_ptr<StreamEndpoint> endpoint);

  void OnReceived(const ibv_wc& completion);
  void OnControl(uint32_t code);
  void OnCredits(uint32_t value);
  void OnSent(const ibv_wc& completion);
  void GrantToPeer();
  void SendCreditMessage();
  void SendHalf();
  void SendPendingControl();
  void Post(const StreamTransfer& transfer, std::span<const std::byte> inline_bytes,
            std::optional<Message> message);
  void Check(const ErrnoOr<void>& posted);

  const std::unique_ptr<StreamEndpoint> endpoint_;
  StreamReceiver receiver_;
  std::optional<StreamSender> sender_;
  std::optional<Iomaps> iomaps_;
  ConnectionHeader peer_{};
  unsigned next_target_ = 1;       // entry of the local list that the peer writes next
  unsigned next_peer_target_ = 1;  // entry of the peer's list that is written next
  unsigned control_used_ = 0;
  unsigned control_count_ = 0;  // messages so far; selects the control buffer
  std::optional<ControlCode> pending_control_;
  bool readable_ = true;
  bool writable_ = true;
  bool is_over_ = false;
  int error_ = 0;
};

}  // namespace verbena::rsockets
