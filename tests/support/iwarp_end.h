#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/signal_guard.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "tests/support/rc_node.h"
#include "tests/support/rc_requests.h"
#include "transport/iwarp/iwarp_qp.h"

namespace verbena::scenario {

// What one end of an iWARP connection is made with. The end fills in who it is.
struct IwarpSpec {
  static transport::IwarpConfig DefaultConfig() {
    return {.registration = RegistrationMode::kAnticipatory,
            .max_rd_atomic = 4,
            .max_dest_rd_atomic = 4,
            .remote_rights = Access::kRemote,
            .stream = {.ulpdu_max = 300}};
  }

  transport::IwarpConfig config = DefaultConfig();
  queue::WorkQueueLimits sends{.capacity = 32, .sges_max = 12, .inline_max = 64, .pages_max = 8};
  queue::WorkQueueLimits receives{.capacity = 32, .sges_max = 4};
  size_t completions = 128;
  size_t send_buffer = 8192;
};

// One end of an iWARP connection: a machine, a queue pair with its queues, and the bytes that have
// arrived and are not taken. One thread.
class IwarpEnd {
 public:
  explicit IwarpEnd(const IwarpSpec& spec = {}, QpNumber number = QpNumber(7), size_t pages = 8)
      : node(pages),
        send_queue(spec.sends),
        receive_queue(spec.receives),
        send_cq(spec.completions),
        receive_cq(spec.completions),
        buffer(spec.send_buffer) {
    config = spec.config;
    config.local_qp = number;
    who = config.who = {node.pd, number};
    qp = std::make_unique<transport::IwarpQp>(
        config, send_queue, transport::ReceiveSource(receive_queue), send_cq, receive_cq);
  }

  // ---- Work.

  void Post(const queue::SendWqe& wqe, const std::vector<Sge>& sges = {},
            const std::vector<uint64_t>& pages = {}) {
    EXPECT_TRUE(send_queue.Post({.wqe = wqe, .sges = sges, .pages = pages}).has_value());
  }
  void PostReceive(uint64_t id, uint64_t offset, uint64_t length) {
    const std::vector<Sge> sges = {node.Local(offset, length)};
    EXPECT_TRUE(receive_queue.Post({.wqe = {.id = WrId(id)}, .sges = sges}).has_value());
  }
  [[nodiscard]] std::vector<Completion> Sent() { return Poll(send_cq); }
  [[nodiscard]] std::vector<Completion> Received() { return Poll(receive_cq); }

  // ---- Steps.

  transport::Step MakeStep() {
    return {.now = now, .memory = node.core, .outbox = node.outbox, .refusals = &node.refusals};
  }
  void Run() {
    transport::Step step = MakeStep();
    EXPECT_FALSE(qp->Run(step));
    Drain();
  }
  // All bytes that it has to send.
  Bytes TakeBytes(size_t max = SIZE_MAX) {
    Bytes bytes;
    for (const auto piece : buffer.bytes()) bytes.insert(bytes.end(), piece.begin(), piece.end());
    bytes.resize(std::min(max, bytes.size()));
    buffer.Consume(bytes.size());
    return bytes;
  }
  // Bytes arrive behind all that have arrived.
  void Arrive(const Bytes& bytes) {
    inbox.insert(inbox.end(), bytes.begin(), bytes.end());
    Deliver();
  }
  // Gives it what has arrived and was not taken.
  void Deliver() {
    transport::Step step = MakeStep();
    const size_t taken = qp->OnBytes(taken_end, inbox, step);
    ASSERT_LE(taken, inbox.size());
    inbox.erase(inbox.begin(), inbox.begin() + static_cast<ptrdiff_t>(taken));
    const bool has_records = config.stream.framing == transport::StreamFraming::kRecords;
    taken_end = has_records ? qp->next_byte() : taken_end + taken;
    Drain();
  }
  // Bytes arrive ahead of a gap.
  void ArriveEarly(wire::StreamOffset at, Bytes bytes) {
    transport::Step step = MakeStep();
    EXPECT_EQ(qp->OnBytes(at, bytes, step), 0);
    Drain();
  }
  // Answers the oldest page request, and gives it what waits.
  void AnswerPages(bool available = true) {
    ASSERT_FALSE(page_requests.empty());
    const transport::PageRequest request = page_requests.front();
    page_requests.erase(page_requests.begin());
    if (available) node.PageIn(request.fault.first_page, request.fault.page_count);
    transport::Step step = MakeStep();
    qp->OnPagesReady(request.ticket, available, step);
    Drain();
    Deliver();
  }

  void Drain() {
    for (const auto& request : node.outbox.page_requests()) page_requests.push_back(request);
    for (const auto& event : node.outbox.events()) events.push_back(event.type);
    node.outbox.Clear();
    EXPECT_TRUE(qp->IsConsistent());
  }

  RcNode node;
  transport::IwarpConfig config;
  memory::Accessor who;
  queue::SendQueue send_queue;
  queue::ReceiveQueue receive_queue;
  queue::CompletionQueue send_cq;
  queue::CompletionQueue receive_cq;
  transport::SendBuffer buffer;
  std::unique_ptr<transport::IwarpQp> qp;
  Time now;
  Bytes inbox;
  wire::StreamOffset taken_end;
  std::vector<transport::PageRequest> page_requests;
  std::vector<AsyncEventType> events;

 private:
  static std::vector<Completion> Poll(queue::CompletionQueue& cq) {
    std::vector<Completion> completions(cq.capacity());
    completions.resize(cq.Poll(completions).value_or(0));
    return completions;
  }
};

// Two ends with a stream between them.
class IwarpPair : public testing::Test {
 protected:
  IwarpPair() { memory::SignalGuard::Install(); }
  ~IwarpPair() override {
    // A queue pair in error holds nothing.
    for (IwarpEnd* const end : {a_.get(), b_.get()}) {
      if (end == nullptr) continue;
      end->qp->BecomeFailed();
      end->Run();
      EXPECT_TRUE(end->node.core.IsConsistent());
      EXPECT_EQ(end->node.core.one_touch.remembered_count(), 0);
    }
    memory::SignalGuard::Uninstall();
  }

  void Connect(const IwarpSpec& a = {}, const IwarpSpec& b = {}) {
    a_ = std::make_unique<IwarpEnd>(a, QpNumber(7));
    b_ = std::make_unique<IwarpEnd>(b, QpNumber(9));
    for (IwarpEnd* const end : {a_.get(), b_.get()}) end->qp->Connect(end->buffer);
  }
  // Moves bytes until both ends have nothing more to do.
  void Settle(size_t piece = SIZE_MAX) {
    for (int i = 0; i < 10'000; ++i) {
      a_->Run();
      b_->Run();
      const Bytes to_b = a_->TakeBytes(piece);
      const Bytes to_a = b_->TakeBytes(piece);
      if (to_a.empty() && to_b.empty()) return;
      b_->Arrive(to_b);
      a_->Arrive(to_a);
    }
    ADD_FAILURE() << "it does not end";
  }
  static std::vector<CompletionStatus> StatusesOf(const std::vector<Completion>& completions) {
    std::vector<CompletionStatus> statuses;
    for (const Completion& completion : completions) statuses.push_back(completion.status);
    return statuses;
  }
  static std::vector<uint64_t> IdsOf(const std::vector<Completion>& completions) {
    std::vector<uint64_t> ids;
    for (const Completion& completion : completions) ids.push_back(completion.id.value());
    return ids;
  }

  std::unique_ptr<IwarpEnd> a_;
  std::unique_ptr<IwarpEnd> b_;
};

}  // namespace verbena::scenario
