#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "memory/copy/span_list.h"
#include "memory/protection/translation.h"
#include "queue/completion_queue.h"
#include "transport/common/async_event.h"
#include "verbena/strong_id.h"
#include "wire/roce/bth.h"
#include "wire/roce/opcode.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// The destination of a packet: an address vector that the adapter resolved. The transport only
// passes it on.
using PathId = StrongId<struct PathIdTag, uint32_t>;

// A packet to be sent: the headers as bytes, the payload by reference. The transmitter copies the
// payload in the same step, by a guarded copy.
struct OutPacket {
  static constexpr size_t kHeaderMax = 64;
  static constexpr size_t kPayloadMax = 4096;

  OutPacket() {}  // NOLINT(modernize-use-equals-default): `= default` would zero what is written.

  std::array<std::byte, kHeaderMax> header;
  size_t header_size = 0;
  uint32_t payload_size = 0;
  memory::SpanList payload;            // in memory, or...
  std::span<const std::byte> inlined;  // ...in the work queue, or gathered as below
  PathId path;
  QpNumber source_qp;
  bool single = false;  // is a datagram of its own, and never part of a segmented one
};

// Whether the packet is a request. Otherwise it is a response to a request of the peer.
[[nodiscard]] inline bool IsRequest(const OutPacket& packet) {
  return wire::FindOpcode(wire::Bth::Parse(packet.header)->opcode)->is_request;
}

// The result of packets that a queue pair sent at once, which the system may have taken as one
// message and segmented (UDP segmentation): see SegmentLosses.
struct SegmentReport {
  enum class Fate : uint8_t {
    kArrived,
    kLost,  // all of them, and arrived when they were sent again as single datagrams
  };

  PathId path;
  uint32_t packets = 0;
  uint32_t bytes = 0;  // of the first, which is at least as long as those that can join it
  Fate fate = Fate::kArrived;
};

// Identifies one wait for pages: a page request in the outbox carries it, and OnPagesReady returns
// it.
using FaultTicket = StrongId<struct FaultTicketTag, uint64_t>;
// No machine waits for this ticket: the pages are entered into the tables, and that is all.
inline constexpr FaultTicket kPrefetchTicket{~uint64_t{0}};
// The first ticket of the receiver of a queue pair of an unreliable service, whose sender counts
// from 0.
inline constexpr uint64_t kReceiverTickets = uint64_t{1} << 63;

struct PageRequest {
  QpNumber qp;
  FaultTicket ticket;
  memory::Fault fault;
  // If the pages are in memory, the answer comes before the next step of the queue pair, even where
  // that costs a report of the system (odp::Paging): for an unreliable service, whose messages
  // should not wait for pages that the program has just used.
  bool is_urgent = false;
};

// The effects of a machine, in the order in which it asked for them. Bounded in packets: a machine
// that finds no room stops, and continues in a later step. Owned by the caller of the step; used by
// one thread at a time.
class Outbox {
 public:
  explicit Outbox(size_t packets_max)
      : packets_max_(packets_max),
        packets_(packets_max),
        gathered_(
            std::make_unique_for_overwrite<std::byte[]>(packets_max * OutPacket::kPayloadMax)) {
    // An input adds at most one of each, and a run of a queue pair at most two; see is_crowded.
    page_requests_.reserve(PageRequestsMax(packets_max));
    events_.reserve(2 * packets_max + kOneStep);
    completion_events_.reserve(2 * packets_max + kOneStep);
    segment_reports_.reserve(2 * packets_max + kOneStep);
  }

  size_t room() const { return packets_max_ - packet_count_; }
  // The number of page requests for which an outbox of `packets_max` packets has room.
  static size_t PageRequestsMax(size_t packets_max) { return 2 * packets_max + kOneStep; }

  // REQUIRES: room() > 0. Fields without a default value above are left uninitialised.
  OutPacket& AddPacket() {
    DCHECK(room() > 0);
    OutPacket& packet = packets_[packet_count_++];
    packet.payload.Clear();
    packet.inlined = {};
    packet.payload_size = 0;
    return packet;
  }
  // The packets from `first` on leave as single datagrams. Rare: other packets pay nothing for it.
  void MakeSingle(size_t first) {
    for (size_t i = first; i < packet_count_; ++i) packets_[i].single = true;
    has_singles_ = has_singles_ || first < packet_count_;
  }
  // Removes the packet added last, because a page of its payload is missing.
  void DropLastPacket() {
    CHECK(packet_count_ > 0);
    --packet_count_;
  }

  // Room for the payload of the packet added last, for one that has more spans than a packet can
  // name.
  std::span<std::byte> GatherRoom() {
    CHECK(packet_count_ > 0);
    return {&gathered_[(packet_count_ - 1) * OutPacket::kPayloadMax], OutPacket::kPayloadMax};
  }

  void RequestPages(const PageRequest& request) { page_requests_.push_back(request); }
  // For pages that no machine waits for yet. The request is dropped if there is no room, which
  // loses nothing.
  void PrefetchPages(const PageRequest& request) {
    if (page_requests_.size() < packets_max_) page_requests_.push_back(request);
  }
  void Raise(const RaisedEvent& event) { events_.push_back(event); }
  void RaiseCompletionEvent(queue::CompletionQueue& cq) { completion_events_.push_back(&cq); }
  void Report(const SegmentReport& report) { segment_reports_.push_back(report); }

  std::span<const OutPacket> packets() const { return {packets_.data(), packet_count_}; }
  std::span<const PageRequest> page_requests() const { return page_requests_; }
  std::span<const RaisedEvent> events() const { return events_; }
  std::span<queue::CompletionQueue* const> completion_events() const { return completion_events_; }
  std::span<const SegmentReport> segment_reports() const { return segment_reports_; }

  // A caller that gives inputs to many machines before it drains the outbox must drain it now. So
  // no list grows, and a step allocates nothing.
  [[nodiscard]] bool is_crowded() const {
    return std::max({page_requests_.size(), events_.size(), completion_events_.size(),
                     segment_reports_.size()}) >= packets_max_;
  }

  // Calls pass_on(request) for each page request. Requests for which it returns false stay for the
  // next call.
  template <class Fn>
  void PassOnPageRequests(Fn pass_on) {
    std::erase_if(page_requests_, pass_on);
  }
  void Clear() {
    page_requests_.clear();
    ClearOthers();
  }
  // Clears everything except page requests.
  void ClearOthers() {
    if (has_singles_) [[unlikely]] {
      for (OutPacket& packet : packets_) packet.single = false;
      has_singles_ = false;
    }
    packet_count_ = 0;
    events_.clear();
    completion_events_.clear();
    segment_reports_.clear();
  }

 private:
  // The effects that one machine may have in one step, for small outboxes.
  static constexpr size_t kOneStep = 16;

  const size_t packets_max_;
  std::vector<OutPacket> packets_;
  std::unique_ptr<std::byte[]> gathered_;
  size_t packet_count_ = 0;
  bool has_singles_ = false;
  std::vector<PageRequest> page_requests_;
  std::vector<RaisedEvent> events_;
  std::vector<queue::CompletionQueue*> completion_events_;
  std::vector<SegmentReport> segment_reports_;
};

}  // namespace verbena::transport
