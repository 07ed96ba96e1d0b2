#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "queue/completion_queue.h"
#include "transport/common/placement.h"
#include "transport/common/receive_slot.h"
#include "transport/common/receive_source.h"
#include "transport/common/step.h"
#include "transport/iwarp/inbound_segment.h"
#include "transport/iwarp/iwarp_config.h"
#include "transport/iwarp/mpa_sender.h"
#include "transport/iwarp/read_queue.h"
#include "transport/iwarp/terminate_reason.h"
#include "wire/iwarp/ddp_tagged.h"
#include "wire/iwarp/ddp_untagged.h"
#include "wire/iwarp/rdmap_opcode.h"

namespace verbena::transport {

// The half of an iWARP queue pair that serves the peer: writes, sends, reads and atomics.
//
// Segments are given in the order of the stream. Those of writes may be given ahead of it as well:
// their payload is placed then, and when the stream delivers them, only the key is checked again.
// So what a peer can do does not depend on the order in which the network delivers.
//
// A segment that meets absent pages waits: it must be given again when the pages are present.
//
// Owned by its queue pair; used by one thread at a time.
class IwarpResponder {
 public:
  IwarpResponder(const IwarpConfig& config, ReceiveSource source, queue::CompletionQueue& cq);

  // Remote rights take effect at once, all else at the next Start.
  void Configure(const IwarpConfig& config) { config_ = config; }
  // The stream is connected.
  void Start();

  // The next segment of the stream. `opcode` is the row of its opcode. REQUIRES: the segment is of
  // a message that this half serves.
  [[nodiscard]] SegmentOutcome OnWrite(const wire::DdpTagged& header,
                                       std::span<const std::byte> payload,
                                       const SegmentPlace& place, Step& step);
  [[nodiscard]] SegmentOutcome OnUntagged(const wire::DdpUntagged& header,
                                          const wire::RdmapOpcodeInfo& opcode,
                                          std::span<const std::byte> body,
                                          const SegmentPlace& place, Step& step);

  // A segment of a write ahead of the stream: true if its payload is placed now. The reason is
  // given if it ends the stream: a second message with a one-touch key.
  struct EarlyWrite {
    bool is_placed = false;
    std::optional<StreamError> error = {};
  };
  [[nodiscard]] EarlyWrite OnEarlyWrite(const wire::DdpTagged& header,
                                        std::span<const std::byte> payload,
                                        const SegmentPlace& place, wire::StreamOffset next,
                                        Step& step);
  // A read or atomic ahead of the stream; see ReadQueue.
  [[nodiscard]] std::optional<StreamError> CheckEarlyRead(wire::DdpMsn msn) const {
    return reads_.Check(msn, false);
  }

  // The stream has delivered everything before `next`.
  void OnDelivered(memory::StreamNumber next, Step& step) {
    if (has_early_touch_) [[unlikely]] {
      step.memory.one_touch.StreamAdvanced(config_.local_qp, next);
    }
  }

  void OnPagesReady(FaultTicket ticket, bool available, Step& step);
  // A segment waits for pages.
  [[nodiscard]] bool is_waiting() const { return wait_.has_value(); }

  // Frames a part of the oldest response.
  [[nodiscard]] FrameSent SendFrame(MpaSender& out, Step& step);
  // A response was begun and is not complete.
  [[nodiscard]] bool is_mid_message() const;
  // SendFrame would send something, if there is room.
  [[nodiscard]] bool has_responses_due() const { return !reads_.empty() && !reply_wait_; }

  // A response failed, or the pages of a segment cannot be paged in: the stream must be terminated.
  struct Failure {
    TerminateReason reason;
    std::optional<InboundRead> read = {};  // that cannot be answered
  };
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

  // The stream is terminated for an error of this half: completes the receive request in progress,
  // or raises the event.
  void Fail(const Termination& termination, const TerminateReason& reason, Step& step);
  // Flushes all receive requests, because the queue pair is in error.
  void Flush(Step& step);

  // For the prefetcher.
  [[nodiscard]] bool TakeReceiveFault() { return std::exchange(had_receive_fault_, false); }
  [[nodiscard]] queue::SharedReceiveQueue* shared_receives() const {
    return receive_.source().shared();
  }
  [[nodiscard]] uint64_t page_waits() const { return page_waits_; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  struct PageWait {
    FaultTicket ticket;
    ResponderError otherwise;  // the reason if the pages cannot be paged in
  };
  // A send of which a part has arrived.
  struct InboundSend {
    bool is_open = false;
    wire::RdmapOpcode opcode{};
    uint32_t received = 0;
  };

  SpentKey SpentKeyFor(Key key, const SegmentPlace& place, const Step& step) const;
  SegmentOutcome CheckPlaced(const RemoteRange& range, const SegmentPlace& place, Step& step) const;
  SegmentOutcome PlaceSegment(const RemoteRange& range, std::span<const std::byte> payload,
                              const SegmentPlace& place, memory::KeyUse& use, Step& step);
  SegmentOutcome EndWrite(Key key, memory::KeyUse use, const SegmentPlace& place, Step& step);

  SegmentOutcome OnSend(const wire::DdpUntagged& header, const wire::RdmapOpcodeInfo& opcode,
                        std::span<const std::byte> payload, Step& step);
  SegmentOutcome CheckSend(const wire::DdpUntagged& header) const;
  SegmentOutcome CompleteSend(const wire::DdpUntagged& header, const wire::RdmapOpcodeInfo& opcode,
                              Step& step);
  SegmentOutcome OnImmediate(const wire::DdpUntagged& header, const wire::RdmapOpcodeInfo& opcode,
                             std::span<const std::byte> body, Step& step);
  SegmentOutcome OnReadRequest(const wire::DdpUntagged& header, std::span<const std::byte> body,
                               Step& step);
  SegmentOutcome OnAtomicRequest(const wire::DdpUntagged& header, std::span<const std::byte> body,
                                 const SegmentPlace& place, Step& step);
  AtomicResult ExecuteOn(const wire::RdmapAtomicRequest& request, Step& step) const;

  FrameSent SendRead(InboundRead& read, MpaSender& out, Step& step);
  FrameSent SendAtomic(const InboundRead& read, MpaSender& out);
  void EndRead(const InboundRead& read, Step& step);

  SegmentOutcome WaitForPages(const memory::Fault& fault, ResponderError otherwise, Step& step);
  FaultTicket RequestPages(const memory::Fault& fault, Step& step);

  IwarpConfig config_;
  ReceiveSlot receive_;
  ReadQueue reads_;
  wire::DdpMsn next_send_ = wire::kFirstDdpMsn;
  wire::DdpMsn next_atomic_response_ = wire::kFirstDdpMsn;
  InboundSend send_;
  uint32_t write_bytes_ = 0;       // of the write in progress
  uint32_t last_write_bytes_ = 0;  // of the write before: an immediate data message completes it
  bool has_early_touch_ = false;   // a one-touch key was touched ahead of the stream
  std::optional<PageWait> wait_;
  std::optional<FaultTicket> reply_wait_;  // of the oldest response
  std::optional<Failure> failure_;
  uint64_t tickets_ = 0;
  uint64_t page_waits_ = 0;
  uint8_t losses_ = 0;  // pages that the present segment or response has lost
  bool had_receive_fault_ = false;
};

}  // namespace verbena::transport
