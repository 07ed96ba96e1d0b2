#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/signal_guard.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "tests/support/memory_fixture.h"
#include "tests/support/out_packets.h"
#include "tests/support/pages.h"
#include "transport/common/outbox.h"
#include "transport/common/step.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// The queues and memory of an unreliable queue pair that sends to itself: one region of four pages
// of real memory. The first two pages are sent or written to, the last two are receive buffers.
class UnreliableFixture : public memory::MemoryFixture {
 protected:
  using Bytes = std::vector<std::byte>;

  static constexpr uint32_t kMtu = 256;
  static constexpr uint64_t kReceivePage = 2;

  UnreliableFixture() {
    memory::SignalGuard::Install();
    for (size_t i = 0; i < arena_.size(); ++i) {
      arena_.data()[i] = static_cast<std::byte>(i * 7 + i / 256);
    }
    region_ = LinearRegion(AddressOf(0), arena_.size());
  }
  ~UnreliableFixture() override { memory::SignalGuard::Uninstall(); }

  Step MakeStep() { return {.now = Time(), .memory = core_, .outbox = outbox_}; }

  // ---- Memory.

  uint64_t AddressOf(uint64_t offset) const {
    return reinterpret_cast<uintptr_t>(arena_.data()) + offset;
  }
  Bytes BytesAt(uint64_t offset, size_t length) const {
    return {arena_.data() + offset, arena_.data() + offset + length};
  }
  Bytes Received(size_t length) const { return BytesAt(kReceivePage * memory::kPage, length); }
  void Evict(uint64_t page) {
    ASSERT_TRUE(memory::Succeeds(core_.regions.UnmapPages(region_.local, page, 1)));
  }
  void Restore(uint64_t page) {
    ASSERT_TRUE(
        memory::Succeeds(core_.regions.MapPages(region_.local, page, 1, std::nullopt, true)));
  }
  Sge SgeOf(uint64_t offset, uint32_t length) const {
    return {AddressOf(offset), length, region_.local};
  }

  // ---- Work requests and completions.

  void PostSend(const queue::SendWqe& wqe, const std::vector<Sge>& sges) {
    ASSERT_TRUE(send_queue_.Post({.wqe = wqe, .sges = sges}).has_value());
  }
  void PostReceive(uint64_t id, uint32_t length) {
    const std::vector sges = {SgeOf(kReceivePage * memory::kPage, length)};
    ASSERT_TRUE(receive_queue_.Post({.wqe = {.id = WrId(id)}, .sges = sges}).has_value());
  }
  static std::vector<Completion> Poll(queue::CompletionQueue& cq) {
    std::vector<Completion> completions(cq.capacity());
    completions.resize(cq.Poll(completions).value_or(0));
    return completions;
  }
  // The statuses of all send completions so far.
  std::vector<CompletionStatus> SendStatuses() {
    std::vector<CompletionStatus> statuses;
    for (const auto& completion : Poll(send_cq_)) statuses.push_back(completion.status);
    return statuses;
  }
  // The only receive completion. Fails the test and returns a default if there is not exactly one.
  Completion OneReceive() {
    const auto completions = Poll(receive_cq_);
    EXPECT_EQ(completions.size(), 1u);
    return completions.size() == 1 ? completions[0] : Completion{};
  }

  // ---- Packets.

  // Runs one step. Appends sent packets to packets_ and page requests to requests_.
  template <class Qp>
  bool RunOnce(Qp& qp) {
    Step step = MakeStep();
    const bool has_more = qp.Run(step);
    EXPECT_TRUE(qp.IsConsistent());
    Empty();
    return has_more;
  }
  template <class Qp>
  void RunAll(Qp& qp) {
    while (RunOnce(qp)) {
    }
  }
  // Answers page requests as an engine does that finds the pages in memory although the tables have
  // them absent: before the next step of the queue pair. All requests are urgent.
  template <class Qp>
  void RunWithResidentPages(Qp& qp) {
    while (!requests_.empty()) {
      const PageRequest request = requests_.back();
      requests_.pop_back();
      EXPECT_TRUE(request.is_urgent);
      ASSERT_TRUE(
          core_.regions.MapPages(request.fault.region, request.fault.first_page, 1, {}, true)
              .has_value());
      Step step = MakeStep();
      qp.OnPagesReady(request.ticket, true, step);
      EXPECT_TRUE(outbox_.page_requests().empty()) << "the answer caused another page request";
      RunAll(qp);
    }
  }
  // Moves the contents of the outbox to packets_ and requests_.
  void Empty() {
    for (const OutPacket& packet : outbox_.packets()) {
      paths_.push_back(packet.path);
      packets_.push_back(BytesOf(packet));
    }
    for (const PageRequest& request : outbox_.page_requests()) requests_.push_back(request);
    for (const RaisedEvent& event : outbox_.events()) events_.push_back(event.type);
    outbox_.Clear();
  }
  wire::Packet PacketAt(size_t i) const { return *wire::Packet::Parse(packets_.at(i)); }

  memory::PagesForTest arena_{4};
  memory::RegionKeys region_;
  queue::SendQueue send_queue_{{.capacity = 8, .sges_max = 4, .inline_max = 64, .pages_max = 1}};
  queue::ReceiveQueue receive_queue_{{.capacity = 8, .sges_max = 4}};
  queue::CompletionQueue send_cq_{16};
  queue::CompletionQueue receive_cq_{16};
  Outbox outbox_{4};
  std::vector<Bytes> packets_;
  std::vector<PathId> paths_;
  std::vector<PageRequest> requests_;
  std::vector<AsyncEventType> events_;
};

}  // namespace verbena::transport
