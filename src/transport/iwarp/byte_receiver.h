#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "queue/completion_queue.h"
#include "transport/common/placement.h"
#include "transport/common/receive_slot.h"
#include "transport/common/receive_source.h"
#include "transport/common/step.h"
#include "transport/iwarp/byte_sender.h"

namespace verbena::transport {

// The half of a queue pair of plain bytes that fills the buffers of receive requests, in order,
// with the bytes of a stream.
//
// A request completes when its buffers are full, and before that when all bytes that have arrived
// are in them, unless it is to be filled (ReceiveWqe::fills). When the peer has ended its
// direction, the request in progress completes with what it has, and each one after it with 0
// bytes. Without a request the bytes are not taken: the window of the stream closes.
//
// Owned by its queue pair; used by one thread at a time.
class ByteReceiver {
 public:
  ByteReceiver(const StreamQpConfig& config, ReceiveSource source, queue::CompletionQueue& cq)
      : config_(config), receive_(config.local_qp, source, cq) {}

  void Configure(const StreamQpConfig& config) { config_ = config; }
  // The stream is connected.
  void Start();

  // The next bytes of the stream. Returns how many of them are taken; the others must be given
  // again, with those behind them.
  [[nodiscard]] size_t OnBytes(std::span<const std::byte> bytes, Step& step);
  // The peer has ended its direction; all bytes before that were taken.
  void OnPeerEnd() { peer_has_ended_ = true; }
  // Completes the requests that the end of the peer's direction completes.
  void CompleteEnded(Step& step);
  // A request has completed with 0 bytes since.
  [[nodiscard]] bool end_was_reported() const { return end_was_reported_; }

  // Bytes were not taken...
  [[nodiscard]] bool is_waiting() const { return wait_.has_value() || waits_for_request_; }
  // ...and would be now.
  [[nodiscard]] bool may_resume() const {
    return !wait_ && (!waits_for_request_ || !receive_.source().empty());
  }

  void OnPagesReady(FaultTicket ticket, bool available, Step& step);
  // Flushes all requests, because the queue pair is in error.
  void Flush(Step& step);

  // A request has failed: the queue pair must go to the error state.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  // For the prefetcher.
  [[nodiscard]] bool TakeReceiveFault() { return std::exchange(had_receive_fault_, false); }
  [[nodiscard]] uint64_t page_waits() const { return page_waits_; }

  [[nodiscard]] bool IsConsistent() const { return receive_.IsConsistent(); }

 private:
  bool Place(std::span<const std::byte> piece, Step& step);
  void WaitFor(const memory::Fault& fault, Step& step);
  void Complete(Step& step);
  void Fail(CompletionStatus status, VendorError check, Step& step);

  StreamQpConfig config_;
  ReceiveSlot receive_;
  std::optional<FaultTicket> wait_;  // for pages of the request
  bool waits_for_request_ = false;
  bool peer_has_ended_ = false;
  bool end_was_reported_ = false;
  bool has_failed_ = false;
  bool had_receive_fault_ = false;
  uint64_t tickets_ = 0;
  uint64_t page_waits_ = 0;
  uint8_t losses_ = 0;  // pages that the present request has lost
};

}  // namespace verbena::transport
