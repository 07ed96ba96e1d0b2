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

// Where a packet goes: an address vector that the adapter resolved. The transport only hands it on.
using PathId = StrongId<struct PathIdTag, uint32_t>;

// A packet to be sent: its headers as bytes, its payload where it lies. The transmitter copies the
// payload, in the same step, through a guarded copy.
struct OutPacket {
  static constexpr size_t kHeaderMax = 64;
  static constexpr size_t kPayloadMax = 4096;

  OutPacket() {}  // NOLINT(modernize-use-equals-default): `= default` would zero what is written.

  std::array<std::byte, kHeaderMax> header;
  size_t header_size = 0;
  uint32_t payload_size = 0;
  memory::SpanList payload;            // in memory, or...
  std::span<const std::byte> inlined;  // ...in the work queue, or gathered below
  PathId path;
  QpNumber source_qp;
  bool single = false;  // leaves as a datagram of its own, whatever is sent with it
};

// Whether it is a packet of a requester, or one of the peer's requester is answered by it.
[[nodiscard]] inline bool IsRequest(const OutPacket& packet) {
  return wire::FindOpcode(wire::Bth::Parse(packet.header)->opcode)->is_request;
}

// What became of packets that a queue pair sent at once, so that the system was free to take them
// as one message and cut it (UDP segmentation): see SegmentLosses.
struct SegmentReport {
  enum class Fate : uint8_t {
    kArrived,
    kLost,  // all of them, and then arrived when they were sent again as single datagrams
  };

  PathId path;
  uint32_t packets = 0;
  uint32_t bytes = 0;  // of the first, which is not shorter than those that can join it
  Fate fate = Fate::kArrived;
};

// Names one wait for pages: what is asked for in the outbox comes back as an input.
using FaultTicket = StrongId<struct FaultTicketTag, uint64_t>;
// No machine waits under this number: the pages are put into the tables, and no more.
inline constexpr FaultTicket kPrefetchTicket{~uint64_t{0}};

struct PageRequest {
  QpNumber qp;
  FaultTicket ticket;
  memory::Fault fault;
  // Of an unreliable service, whose messages are not to wait for pages that the program has just
  // used: if the system has them in memory, the answer comes before the queue pair's next step.
  bool is_urgent = false;
};

// All that a machine wants of the world, in the order in which it wanted it. Bounded in packets: a
// machine that finds no room stops and goes on in a later step. Owned by the caller of the step;
// one thread at a time.
class Outbox {
 public:
  explicit Outbox(size_t packets_max)
      : packets_max_(packets_max),
        packets_(packets_max),
        gathered_(
            std::make_unique_for_overwrite<std::byte[]>(packets_max * OutPacket::kPayloadMax)) {
    // An input wants one of each at most, and a queue pair that runs two; see is_crowded.
    page_requests_.reserve(PageRequestsMax(packets_max));
    events_.reserve(2 * packets_max + kOneStep);
    completion_events_.reserve(2 * packets_max + kOneStep);
    segment_reports_.reserve(2 * packets_max + kOneStep);
  }

  size_t room() const { return packets_max_ - packet_count_; }
  // How many requests for pages an outbox of so many packets has room for.
  static size_t PageRequestsMax(size_t packets_max) { return 2 * packets_max + kOneStep; }

  // REQUIRES: room() > 0. The fields other than the defaults above are left uninitialised.
  OutPacket& AddPacket() {
    DCHECK(room() > 0);
    OutPacket& packet = packets_[packet_count_++];
    packet.payload.Clear();
    packet.inlined = {};
    packet.payload_size = 0;
    return packet;
  }
  // The packets from this one on leave in single datagrams. Rare: others pay nothing for it.
  void MakeSingle(size_t first) {
    for (size_t i = first; i < packet_count_; ++i) packets_[i].single = true;
    has_singles_ = has_singles_ || first < packet_count_;
  }
  // Takes back the packet added last: its payload turned out to be missing.
  void DropLastPacket() {
    CHECK(packet_count_ > 0);
    --packet_count_;
  }

  // Room for the payload of the packet added last, when it lies in too many pieces to be named.
  std::span<std::byte> GatherRoom() {
    CHECK(packet_count_ > 0);
    return {&gathered_[(packet_count_ - 1) * OutPacket::kPayloadMax], OutPacket::kPayloadMax};
  }

  void RequestPages(const PageRequest& request) { page_requests_.push_back(request); }
  // For pages that no machine waits for yet: nothing is lost where they are not asked for.
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

  // A caller that gives inputs to many machines before it drains the outbox does that now: then
  // no list ever grows, and a step needs no memory.
  [[nodiscard]] bool is_crowded() const {
    return std::max({page_requests_.size(), events_.size(), completion_events_.size(),
                     segment_reports_.size()}) >= packets_max_;
  }

  // Calls pass_on(request) for each page request; those for which it is false stay for the next
  // time.
  template <class Fn>
  void PassOnPageRequests(Fn pass_on) {
    std::erase_if(page_requests_, pass_on);
  }
  void Clear() {
    page_requests_.clear();
    ClearOthers();
  }
  // All but page requests.
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
  // What one machine may want in one step, where an outbox is small.
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
