#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/signal_guard.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "tests/support/rc_node.h"
#include "transport/iwarp/stream_qp.h"

namespace verbena::transport {

using scenario::Bytes;
using scenario::RcNode;
using Statuses = std::vector<CompletionStatus>;

inline Bytes Text(size_t size, uint8_t seed) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed + i * 13 + (i >> 8));
  return bytes;
}

// A queue pair of plain bytes with its queues, its memory, the bytes that have arrived, and TCP.
class StreamQpWorld : public testing::Test {
 protected:
  explicit StreamQpWorld(RegistrationMode registration = RegistrationMode::kAnticipatory)
      : config_{.local_qp = QpNumber(7),
                .who = {node_.pd, QpNumber(7)},
                .registration = registration},
        qp_(config_, sends_, ReceiveSource(receives_), send_cq_, receive_cq_) {
    memory::SignalGuard::Install();
    qp_.Connect(buffer_);
  }
  ~StreamQpWorld() override {
    qp_.BecomeFailed();
    Run();
    EXPECT_EQ(sends_.begin(), sends_.end());
    EXPECT_EQ(receives_.begin(), receives_.end());
    EXPECT_TRUE(node_.core.IsConsistent());
    memory::SignalGuard::Uninstall();
  }

  // ---- Work.

  void Post(const queue::SendWqe& wqe, const std::vector<Sge>& sges = {}) {
    ASSERT_TRUE(sends_.Post({.wqe = wqe, .sges = sges}).has_value());
  }
  void PostSend(uint64_t id, uint64_t offset, uint64_t length) {
    Post({.id = WrId(id), .flags = {}}, {node_.Local(offset, length)});
  }
  // Ends this direction.
  void PostEnd(uint64_t id) { Post({.id = WrId(id), .flags = {}}); }
  void PostReceive(uint64_t id, uint64_t offset, uint64_t length, bool fills = false) {
    const std::vector<Sge> sges = {node_.Local(offset, length)};
    ASSERT_TRUE(receives_.Post({.wqe = {WrId(id), fills}, .sges = sges}).has_value());
  }
  Statuses Sent() { return StatusesOf(Poll(send_cq_)); }
  Statuses Received() { return StatusesOf(Poll(receive_cq_)); }
  // The bytes of each receive that has completed.
  std::vector<uint32_t> Filled() {
    std::vector<uint32_t> counts;
    for (const Completion& completion : Poll(receive_cq_)) {
      EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
      EXPECT_EQ(completion.opcode, CompletionOpcode::kReceive);
      counts.push_back(completion.byte_count);
    }
    return counts;
  }

  // ---- Steps.

  Step MakeStep() {
    return {.now = now_, .memory = node_.core, .outbox = node_.outbox, .refusals = &node_.refusals};
  }
  void Run() {
    Step step = MakeStep();
    EXPECT_FALSE(qp_.Run(step));
    Drain();
  }
  // TCP takes the oldest bytes that are to be sent.
  Bytes Take(size_t max = SIZE_MAX) {
    Bytes bytes;
    for (const auto piece : buffer_.bytes()) bytes.insert(bytes.end(), piece.begin(), piece.end());
    bytes.resize(std::min(max, bytes.size()));
    buffer_.Consume(bytes.size());
    return bytes;
  }
  // Runs until nothing is left to send; returns all of it.
  Bytes RunAndTake() {
    Bytes all;
    for (Run(); !buffer_.empty(); Run()) {
      const Bytes bytes = Take();
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    if (qp_.wants_end()) {
      qp_.OnEndSent();
      Run();
    }
    return all;
  }
  void Arrive(const Bytes& bytes) {
    inbox_.insert(inbox_.end(), bytes.begin(), bytes.end());
    Deliver();
  }
  void Deliver() {
    Step step = MakeStep();
    const size_t taken = qp_.OnBytes(taken_, inbox_, step);
    ASSERT_LE(taken, inbox_.size());
    inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<ptrdiff_t>(taken));
    taken_ = taken_ + taken;
    Drain();
  }
  void AnswerPages(bool available = true) {
    ASSERT_FALSE(page_requests_.empty());
    const PageRequest request = page_requests_.front();
    page_requests_.erase(page_requests_.begin());
    if (available) node_.PageIn(request.fault.first_page, request.fault.page_count);
    Step step = MakeStep();
    qp_.OnPagesReady(request.ticket, available, step);
    Drain();
  }
  void Drain() {
    for (const auto& request : node_.outbox.page_requests()) page_requests_.push_back(request);
    for (const auto& event : node_.outbox.events()) events_.push_back(event.type);
    node_.outbox.Clear();
    EXPECT_TRUE(qp_.IsConsistent());
  }

  // The queue pair is made again.
  void StartOver() {
    std::destroy_at(&qp_);
    std::construct_at(&qp_, config_, sends_, ReceiveSource(receives_), send_cq_, receive_cq_);
    qp_.Connect(buffer_);
  }

  static std::vector<Completion> Poll(queue::CompletionQueue& cq) {
    std::vector<Completion> completions(cq.capacity());
    completions.resize(cq.Poll(completions).value_or(0));
    return completions;
  }
  static Statuses StatusesOf(const std::vector<Completion>& completions) {
    Statuses statuses;
    for (const Completion& completion : completions) statuses.push_back(completion.status);
    return statuses;
  }

  RcNode node_{8};
  queue::SendQueue sends_{{.capacity = 16, .sges_max = 4, .inline_max = 64, .pages_max = 8}};
  queue::ReceiveQueue receives_{{.capacity = 16, .sges_max = 4}};
  queue::CompletionQueue send_cq_{64};
  queue::CompletionQueue receive_cq_{64};
  SendBuffer buffer_{1000};
  StreamQpConfig config_;
  StreamQp qp_;
  Time now_;
  Bytes inbox_;
  wire::StreamOffset taken_;
  std::vector<PageRequest> page_requests_;
  std::vector<AsyncEventType> events_;
};

}  // namespace verbena::transport
