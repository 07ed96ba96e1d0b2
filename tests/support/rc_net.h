#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "memory/copy/signal_guard.h"
#include "tests/support/rc_link.h"
#include "tests/support/rc_node.h"
#include "transport/common/packet_bytes.h"
#include "transport/common/send_in_order.h"
#include "wire/roce/icrc.h"
#include "wire/roce/packet.h"

namespace verbena::scenario {

struct HeldRequest {
  RcEnd* end;
  transport::PageRequest request;
};

// Endnodes, connections between them, and a virtual clock that jumps from one event to the next.
// The test decides about each packet and each page request; by default a packet takes kDelay and a
// page-in 100 microseconds. Only queue pairs with events take steps.
//
// Allocates only when it grows; Reserve avoids that. One thread.
class RcNet {
 public:
  static constexpr Duration kDelay = Microseconds(5);

  using Link = std::function<LinkAction(const Passing&)>;
  using Pager = std::function<PageAction(const RcEnd&, const transport::PageRequest&)>;

  RcNet() { memory::SignalGuard::Install(); }
  RcNet(const RcNet&) = delete;
  RcNet& operator=(const RcNet&) = delete;

  RcNode& AddNode(size_t pages, const memory::MemoryOptions& options = {}) {
    nodes_.push_back(std::make_unique<RcNode>(pages, options));
    return *nodes_.back();
  }

  // Both ends are ready to send when this returns.
  std::pair<RcEnd&, RcEnd&> Connect(RcNode& a, RcNode& b, const RcSpec& spec_a,
                                    const RcSpec& spec_b) {
    const auto first = static_cast<uint32_t>(kFirstQp + ends_.size());
    const QpNumber number_a(first);
    const QpNumber number_b(first + 1);
    ends_.push_back(std::make_unique<RcEnd>(a, spec_a, number_a, number_b));
    ends_.push_back(std::make_unique<RcEnd>(b, spec_b, number_b, number_a));
    RcEnd& end_a = *ends_[ends_.size() - 2];
    RcEnd& end_b = *ends_.back();
    end_a.qp->BecomeReadyToReceive(spec_b.first_psn);
    end_b.qp->BecomeReadyToReceive(spec_a.first_psn);
    end_a.qp->BecomeReadyToSend(spec_a.first_psn);
    end_b.qp->BecomeReadyToSend(spec_b.first_psn);
    return {end_a, end_b};
  }

  void SetLink(Link link) { link_ = std::move(link); }
  void SetPager(Pager pager) { pager_ = std::move(pager); }

  void Post(RcEnd& end, const queue::SendWorkRequest& request) {
    CHECK(end.send_queue.Post(request).has_value());
    Touch(end);
  }
  void Post(RcEnd& end, const queue::SendWqe& wqe, std::initializer_list<Sge> sges) {
    Post(end, {.wqe = wqe, .sges = {sges.begin(), sges.size()}});
  }
  void PostReceive(RcEnd& end, uint64_t id, std::initializer_list<Sge> sges) {
    const queue::ReceiveWorkRequest request{.wqe = {.id = WrId(id)},
                                            .sges = {sges.begin(), sges.size()}};
    CHECK(end.receive_queue.Post(request).has_value());
    Touch(end);
  }
  // Schedules a step of this queue pair, because its state has changed.
  void Touch(RcEnd& end) {
    if (std::exchange(end.is_dirty, true)) return;
    dirty_.push_back(&end);
  }

  // After this call, up to `events` packets and other events in flight need no allocation.
  void Reserve(size_t events) {
    queue_.reserve(events);
    held_.reserve(events);
    held_requests_.reserve(events);
    events_.reserve(events);
    dirty_.reserve(events);
    buffers_.reserve(events);
    free_.reserve(events);
    while (buffers_.size() < events) {
      buffers_.push_back(std::make_unique<Buffer>());
      free_.push_back(buffers_.back().get());
    }
  }

  void ReleaseHeld() {
    for (const Event& event : held_) Add(now_ + kDelay, event);
    held_.clear();
  }
  void AnswerHeld(bool available = true) {
    for (const HeldRequest& held : held_requests_) {
      Add(now_, {.kind = Event::Kind::kPages,
                 .end = held.end,
                 .request = held.request,
                 .available = available});
    }
    held_requests_.clear();
  }

  // Runs until `done` returns true, or until the limit has passed; false if the limit has passed.
  template <class Done>
  bool RunUntil(Done done, Duration limit) {
    const Time end = now_ + limit;
    while (true) {
      RunSteps();
      if (done()) return true;
      const Time next = NextTime();
      if (next > end) break;
      now_ = next;
      Deliver();
    }
    now_ = end;
    return false;
  }
  void RunFor(Duration limit) {
    RunUntil([] { return false; }, limit);
  }
  // Runs until no event is due; false if the limit passes before.
  bool RunUntilIdle(Duration limit = Seconds(100)) {
    return RunUntil([&] { return NextTime() == Time::Never(); }, limit);
  }

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] std::span<const std::unique_ptr<RcEnd>> ends() const { return ends_; }
  [[nodiscard]] const std::vector<HeldRequest>& held_requests() const { return held_requests_; }
  [[nodiscard]] size_t held_packets() const { return held_.size(); }
  [[nodiscard]] size_t completion_events() const { return completion_events_; }

  // The asynchronous events of a queue pair so far, in order.
  [[nodiscard]] std::vector<AsyncEventType> EventsOf(const RcEnd& end) const {
    std::vector<AsyncEventType> types;
    for (const transport::RaisedEvent& event : events_) {
      if (event.qp == end.number) types.push_back(event.type);
    }
    return types;
  }
  [[nodiscard]] uint64_t timeouts() const {
    uint64_t sum = 0;
    for (const auto& end : ends_) sum += end->counters().timeouts;
    return sum;
  }

 private:
  static constexpr uint32_t kFirstQp = 0x100;
  static constexpr size_t kPacketMax =
      transport::OutPacket::kHeaderMax + transport::OutPacket::kPayloadMax + wire::kIcrcSize;
  using Buffer = std::array<std::byte, kPacketMax>;

  struct Event {
    enum class Kind : uint8_t { kPacket, kPages, kTimer };

    Kind kind;
    RcEnd* end = nullptr;
    Buffer* buffer = nullptr;  // kPacket
    size_t size = 0;
    transport::PageRequest request = {};  // kPages
    bool available = true;
    Time at = {};
    uint64_t sequence = 0;

    // For a heap with the earliest event on top; of events at the same time, the first that was
    // added.
    friend bool operator<(const Event& a, const Event& b) {
      return std::pair(a.at, a.sequence) > std::pair(b.at, b.sequence);
    }
  };

  RcEnd& EndOf(QpNumber number) { return *ends_.at(number.value() - kFirstQp); }

  void Add(Time at, Event event) {
    event.at = at;
    event.sequence = ++sequence_;
    queue_.push_back(event);
    std::push_heap(queue_.begin(), queue_.end());
  }
  Event Take() {
    std::pop_heap(queue_.begin(), queue_.end());
    const Event event = queue_.back();
    queue_.pop_back();
    return event;
  }

  // Drops timers that were stopped or set again, so that the clock does not stop at their old time.
  Time NextTime() {
    while (!queue_.empty() && queue_.front().kind == Event::Kind::kTimer &&
           queue_.front().end->qp->next_time() > queue_.front().at) {
      RcEnd& end = *Take().end;
      end.wake_at = Time::Never();
      SetTimer(end);
    }
    return queue_.empty() ? Time::Never() : queue_.front().at;
  }

  void SetTimer(RcEnd& end) {
    const Time next = end.qp->next_time();
    if (next >= end.wake_at) return;
    end.wake_at = next;
    Add(std::max(next, now_), {.kind = Event::Kind::kTimer, .end = &end});
  }

  transport::Step StepOf(RcEnd& end) {
    return {.now = now_,
            .memory = end.node.core,
            .outbox = end.node.outbox,
            .refusals = &end.node.refusals};
  }

  void Deliver() {
    while (NextTime() <= now_) {
      const Event event = Take();
      RcEnd& end = *event.end;
      transport::Step step = StepOf(end);
      switch (event.kind) {
        case Event::Kind::kPacket:
          if (const auto packet = wire::Packet::Parse(std::span(*event.buffer).first(event.size))) {
            end.qp->OnPacket(*packet, step);
          }
          free_.push_back(event.buffer);
          break;
        case Event::Kind::kPages:
          if (event.available) PageIn(end.node, event.request.fault);
          end.qp->OnPagesReady(event.request.ticket, event.available, step);
          break;
        case Event::Kind::kTimer:
          end.wake_at = Time::Never();
          end.qp->OnTime(step);
          break;
      }
      Touch(end);
      Empty(end);
    }
  }

  // Fails if the region is deregistered; the queue pair then finds out at its next access.
  static void PageIn(RcNode& node, const memory::Fault& fault) {
    static_cast<void>(
        node.core.regions.MapPages(fault.region, fault.first_page, fault.page_count, {}, true));
  }

  void RunSteps() {
    for (size_t i = 0; i < dirty_.size(); ++i) {
      RcEnd& end = *dirty_[i];
      end.is_dirty = false;
      bool has_more = true;
      while (has_more) {
        transport::Step step = StepOf(end);
        has_more = end.qp->Run(step) || end.node.outbox.room() == 0;
        CHECK(end.qp->IsConsistent());
        Empty(end);
      }
      SetTimer(end);
    }
    dirty_.clear();
  }

  void Empty(RcEnd& end) {
    transport::Outbox& outbox = end.node.outbox;
    transport::Step step = StepOf(end);
    transport::SendInOrder(
        outbox.packets(), [&](const transport::OutPacket& packet) { return Send(end, packet); },
        [&](const transport::OutPacket& packet, std::optional<memory::MachineAddress> gone) {
          if (gone) end.node.core.MarkMachineAbsent(*gone, *gone);
          Touch(end);
          return end.qp->TakeBack(packet, gone.has_value(), step);
        });
    for (const transport::PageRequest& request : outbox.page_requests()) {
      const PageAction action = pager_ ? pager_(end, request) : PageAction{};
      if (action.is_held) {
        held_requests_.push_back({&end, request});
      } else {
        Add(now_ + action.after, {.kind = Event::Kind::kPages,
                                  .end = &end,
                                  .request = request,
                                  .available = action.available});
      }
    }
    for (const transport::RaisedEvent& event : outbox.events()) events_.push_back(event);
    completion_events_ += outbox.completion_events().size();
    outbox.Clear();
  }

  // If a page of the payload is absent, sends nothing and returns the address.
  std::optional<memory::MachineAddress> Send(const RcEnd& from, const transport::OutPacket& out) {
    Buffer& buffer = TakeBuffer();
    const size_t size = transport::WireSizeOf(out);
    const std::span bytes = std::span(buffer).first(size);
    if (const auto gone = transport::WritePacket(out, bytes)) {
      free_.push_back(&buffer);
      return gone;
    }
    const auto packet = wire::Packet::Parse(bytes);
    CHECK(packet.has_value());
    RcEnd& to = EndOf(packet->bth().dest_qp);
    const LinkAction action = link_ ? link_({from, to, *packet, bytes}) : LinkAction{};
    const Event event{.kind = Event::Kind::kPacket, .end = &to, .buffer = &buffer, .size = size};
    if (action.is_held) {
      held_.push_back(event);
      return std::nullopt;
    }
    for (int i = 1; i < action.copies; ++i) {
      Event copy = event;
      copy.buffer = &TakeBuffer();
      std::ranges::copy(bytes, copy.buffer->begin());
      Add(now_ + kDelay + action.late + action.apart * i, copy);
    }
    if (action.copies > 0) {
      Add(now_ + kDelay + action.late, event);
    } else {
      free_.push_back(&buffer);
    }
    return std::nullopt;
  }

  Buffer& TakeBuffer() {
    if (free_.empty()) {
      buffers_.push_back(std::make_unique<Buffer>());
      return *buffers_.back();
    }
    Buffer& buffer = *free_.back();
    free_.pop_back();
    return buffer;
  }

  Time now_{Seconds(1)};
  Link link_;
  Pager pager_;
  std::vector<std::unique_ptr<RcNode>> nodes_;
  std::vector<std::unique_ptr<RcEnd>> ends_;
  std::vector<RcEnd*> dirty_;
  std::vector<Event> queue_;  // a heap
  uint64_t sequence_ = 0;
  std::vector<Event> held_;
  std::vector<HeldRequest> held_requests_;
  std::vector<transport::RaisedEvent> events_;
  size_t completion_events_ = 0;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Buffer*> free_;
};

}  // namespace verbena::scenario
