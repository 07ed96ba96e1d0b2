#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/local_work.h"
#include "transport/common/outstanding_requests.h"
#include "transport/common/step.h"
#include "transport/iwarp/inbound_segment.h"
#include "transport/iwarp/iwarp_config.h"
#include "transport/iwarp/mpa_sender.h"
#include "transport/iwarp/outbound_reads.h"
#include "wire/iwarp/ddp_tagged.h"
#include "wire/iwarp/ddp_untagged.h"
#include "wire/iwarp/rdmap_terminate.h"

namespace verbena::transport {

// The half of an iWARP queue pair that turns the elements of a send queue into messages, and
// responses of the peer into completions.
//
// A send or write is complete when all of it is framed: its bytes are copied then, and the stream
// is reliable. A read or atomic is complete when the stream has delivered all of its response.
// Completions are in the order of the queue.
//
// Owned by its queue pair; used by one thread at a time.
class IwarpRequester {
 public:
  IwarpRequester(const IwarpConfig& config, queue::SendQueue& queue, queue::CompletionQueue& cq);

  // Takes effect at the next Start.
  void Configure(const IwarpConfig& config) { config_ = config; }
  [[nodiscard]] const IwarpConfig& config() const { return config_; }
  // The stream is connected. REQUIRES: no request is outstanding.
  void Start();

  // Frames a part of the next message. Starts new elements only if `may_begin`.
  [[nodiscard]] FrameSent SendFrame(MpaSender& out, bool may_begin, Step& step);
  // A message was begun and is not complete.
  [[nodiscard]] bool is_mid_message() const {
    return position_.is_begun && !is_blocked_ && !has_failed_;
  }
  // Completes what is done.
  void CompleteDone(Step& step);

  // Responses of the peer: the next segment of the stream.
  [[nodiscard]] SegmentOutcome OnReadResponse(const wire::DdpTagged& header,
                                              std::span<const std::byte> payload,
                                              const SegmentPlace& place, Step& step);
  [[nodiscard]] SegmentOutcome OnAtomicResponse(const wire::DdpUntagged& header,
                                                std::span<const std::byte> body, Step& step);
  // A segment of a read response ahead of the stream: true if its payload is placed now.
  [[nodiscard]] bool OnEarlyResponse(const wire::DdpTagged& header,
                                     std::span<const std::byte> payload, Step& step);
  // The peer has ended the stream: the element that it names fails.
  void OnTerminate(const wire::RdmapTerminate& terminate, Step& step);

  void OnPagesReady(FaultTicket ticket, bool available, Step& step);
  // A response waits for pages of its list.
  [[nodiscard]] bool is_waiting() const { return scatter_wait_.has_value(); }

  // Must be called at next_time() or later.
  void OnTime(Step& step);
  [[nodiscard]] Time next_time() const { return delayed_until_; }

  // Flushes all elements, because the queue pair is in error.
  void Flush(Step& step);

  // An element has failed: the queue pair must go to the error state.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  // A registration has failed in reactive mode, and all elements after it are flushed: the send
  // queue must go to SQD. True once per failure.
  [[nodiscard]] bool TakeSqdFailure() { return std::exchange(had_sqd_failure_, false); }
  // Flushes all that was posted since. REQUIRES: is_drained().
  void FlushPosted(Step& step);
  // The elements from here on are not sent, or not completely.
  [[nodiscard]] queue::WqeNumber first_unsent() const { return position_.wqe; }
  // No request is outstanding.
  [[nodiscard]] bool is_drained() const { return outstanding_.empty(); }
  [[nodiscard]] uint64_t page_waits() const { return page_waits_; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  // Where the next frame begins.
  struct Position {
    queue::WqeNumber wqe;
    uint64_t offset = 0;
    bool is_begun = false;      // a frame of the element was sent, and more are to come
    bool is_immediate = false;  // the write is framed; the immediate data is next
  };
  struct Wait {
    FaultTicket ticket;
    queue::WqeNumber wqe;
  };

  bool MayStart(const queue::SendWqe& wqe) const;
  bool StartNext(Step& step);
  LocalOutcome DoLocalPart(queue::WqeNumber n, Step& step);
  FrameSent SendNext(MpaSender& out, Step& step);
  FrameSent SendSegment(MpaSender& out, Step& step);
  bool FillPayload(std::span<std::byte> payload, Step& step);
  void WriteHeader(const queue::SendWqe& wqe, bool is_last, std::span<std::byte> ulpdu) const;
  FrameSent SendImmediate(MpaSender& out);
  FrameSent SendRead(MpaSender& out);
  FrameSent SendAtomic(MpaSender& out);
  void AddRead(bool is_atomic, Key sink);
  void EndMessage();
  SegmentOutcome Scatter(const OutboundRead& read, uint64_t offset,
                         std::span<const std::byte> bytes, Step& step);
  void EndResponse(Step& step);

  std::optional<Wait> WaitFor(const memory::Fault& fault, queue::WqeNumber n, Step& step);
  void FailAt(queue::WqeNumber n, const LocalOutcome& outcome, Step& step);
  void CompleteFront(const LocalOutcome& outcome, uint32_t byte_count, Step& step);
  void CompleteFailed(Step& step);
  void FlushQueue(Step& step);
  bool is_delayed() const { return delayed_until_ != Time::Never(); }

  IwarpConfig config_;
  queue::SendQueue& queue_;
  queue::CompletionQueue& cq_;
  LocalWork local_work_;
  OutstandingRequests outstanding_;  // without sequence numbers of packets
  OutboundReads reads_;
  Position position_;
  wire::DdpMsn next_send_ = wire::kFirstDdpMsn;
  wire::DdpMsn next_read_ = wire::kFirstDdpMsn;  // and atomic
  wire::DdpMsn next_atomic_response_ = wire::kFirstDdpMsn;
  std::optional<Wait> gather_wait_;
  std::optional<Wait> scatter_wait_;
  Time delayed_until_ = Time::Never();
  uint64_t tickets_ = 0;
  uint64_t page_waits_ = 0;
  std::optional<queue::WqeNumber> failed_registration_;
  bool is_blocked_ = false;  // an element failed; no element after it is started
  bool has_failed_ = false;
  bool had_sqd_failure_ = false;
};

}  // namespace verbena::transport
