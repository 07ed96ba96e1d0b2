#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/signal_guard.h"
#include "memory/memory_core.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "tests/support/out_packets.h"
#include "tests/support/wire_packets.h"
#include "transport/rc/requester.h"
#include "transport/rc/response_marks.h"
#include "wire/roce/aeth.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"

namespace verbena::transport {

// A packet as the peer would see it.
struct Sent {
  const wire::OpcodeInfo* info;
  wire::Bth bth;
  std::string payload;
  wire::Reth reth;
  wire::AtomicEth atomic;
  bool single;
};

// A requester with a path MTU of 256 and one region of 64 KiB. The test plays the responder.
class RequesterTest : public testing::Test {
 protected:
  static constexpr uint32_t kMtu = 256;
  static constexpr uint64_t kArena = 64 * 1024;
  using SendOpcode = queue::SendOpcode;

  RequesterTest() { Reset({}); }

  void Reset(const RcConfig& changes) {
    memory::SignalGuard::Install();
    core_ = std::make_unique<memory::MemoryCore>();
    const auto pd = *core_->domains.Allocate(*core_->consumers.Open({}));
    config_ = changes;
    config_.local_qp = QpNumber(17);
    config_.remote_qp = QpNumber(18);
    config_.path_mtu = kMtu;
    config_.who = {pd, QpNumber(17)};
    arena_.assign(kArena, std::byte{0});
    for (size_t i = 0; i < kArena; ++i) arena_[i] = static_cast<std::byte>(i * 7 + i / 256);
    const uint64_t at = reinterpret_cast<uintptr_t>(arena_.data());
    const memory::RegionSpec spec{.pd = pd,
                                  .start = KeyAddress(at),
                                  .length = kArena,
                                  .rights = Access::kLocalRead | Access::kLocalWrite};
    const auto made =
        *core_->regions.Register(spec, memory::LinearBacking{memory::PhysicalAddress(at)});
    key_ = made.local;
    MapAll(true);
    queue_ = std::make_unique<queue::SendQueue>(
        queue::WorkQueueLimits{.capacity = 16, .sges_max = 16, .inline_max = 64, .pages_max = 4});
    cq_ = std::make_unique<queue::CompletionQueue>(64);
    outbox_ = std::make_unique<Outbox>(256);
    requester_ = std::make_unique<Requester>(config_, *queue_, *cq_);
    requester_->Start(Psn(100));
  }

  void MapAll(bool present) {
    const memory::ProtectionEntry* entry = core_->table.Find(key_.index());
    const uint64_t count = entry->table->page_count();
    if (present) {
      ASSERT_TRUE(core_->regions.MapPages(key_, 0, count, std::nullopt, true).has_value());
    } else {
      ASSERT_TRUE(core_->regions.UnmapPages(key_, 0, count).has_value());
    }
  }

  Sge Bytes(uint64_t offset, uint32_t length) const {
    return {.address = reinterpret_cast<uintptr_t>(arena_.data()) + offset,
            .length = length,
            .key = key_};
  }
  std::string Text(uint64_t offset, size_t length) const {
    return {reinterpret_cast<const char*>(arena_.data()) + offset, length};
  }

  void Post(SendOpcode opcode, std::vector<Sge> sges, queue::SendOperand operand = {},
            SendFlags flags = {.signaled = true}) {
    queue::SendWqe wqe;
    wqe.id = WrId(++posted_);
    wqe.opcode = opcode;
    wqe.flags = flags;
    wqe.operand = operand;
    ASSERT_TRUE(queue_->Post({.wqe = wqe, .sges = sges}).has_value());
  }
  void PostWrite(uint64_t offset, uint32_t length) {
    Post(SendOpcode::kWrite, {Bytes(offset, length)},
         RemoteAddress{.address = 0x1000, .key = Key(7)});
  }
  void PostRead(uint64_t offset, uint32_t length) {
    Post(SendOpcode::kRead, {Bytes(offset, length)},
         RemoteAddress{.address = 0x2000, .key = Key(9)});
  }

  Step MakeStep() {
    return {.now = now_, .memory = *core_, .outbox = *outbox_, .segments_in_doubt = in_doubt_};
  }

  // Runs the requester and returns the packets that it sends.
  std::vector<Sent> Pump() {
    Step step = MakeStep();
    requester_->Pump(step, may_begin_);
    EXPECT_TRUE(requester_->IsConsistent());
    std::vector<Sent> sent;
    for (const OutPacket& packet : outbox_->packets()) sent.push_back(Read(packet));
    for (const PageRequest& request : outbox_->page_requests()) requests_.push_back(request);
    outbox_->Clear();
    return sent;
  }

  static Sent Read(const OutPacket& packet) {
    const std::vector<std::byte> bytes = BytesOf(packet);
    const auto parsed = wire::Packet::Parse(bytes);
    EXPECT_TRUE(parsed.has_value());
    const auto payload = parsed->payload();
    return {&parsed->info(),
            parsed->bth(),
            std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
            parsed->Get<wire::Reth>().value_or(wire::Reth()),
            parsed->Get<wire::AtomicEth>().value_or(wire::AtomicEth()),
            packet.single};
  }

  template <class... Headers>
  void Respond(wire::Operation operation, wire::Position position, Psn psn,
               std::span<const std::byte> payload, const Headers&... headers) {
    const wire::OpcodeInfo* info = wire::FindOpcode(wire::Service::kRc, operation, position);
    ASSERT_NE(info, nullptr);
    wire::Bth bth{.opcode = info->opcode, .dest_qp = QpNumber(17), .psn = psn};
    if (marks_fault_) MarkFault(bth);
    const std::vector<std::byte> bytes = wire::BuildPacket(bth, payload, headers...);
    const auto packet = wire::Packet::Parse(bytes);
    ASSERT_TRUE(packet.has_value());
    Step step = MakeStep();
    requester_->OnResponse(*packet, step);
    EXPECT_TRUE(requester_->IsConsistent());
    for (const PageRequest& request : outbox_->page_requests()) requests_.push_back(request);
    for (const SegmentReport& report : outbox_->segment_reports()) reports_.push_back(report);
    outbox_->Clear();
  }
  // A NAK that is marked as caused by absent pages of the responder.
  void AnswerForPages(wire::Syndrome syndrome, Psn psn) {
    marks_fault_ = true;
    Answer(syndrome, psn);
    marks_fault_ = false;
  }
  void Answer(wire::Syndrome syndrome, Psn psn) {
    Respond(wire::Operation::kAcknowledge, wire::Position::kOnly, psn, {},
            wire::Aeth{.syndrome = syndrome});
  }
  void Ack(uint32_t psn) { Answer(wire::Syndrome::Ack(), Psn(psn)); }
  void ReadResponse(wire::Position position, uint32_t psn, const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    if (position == wire::Position::kMiddle) {
      Respond(wire::Operation::kReadResponse, position, Psn(psn), bytes);
    } else {
      Respond(wire::Operation::kReadResponse, position, Psn(psn), bytes, wire::Aeth{});
    }
  }
  void Advance(Duration by) {
    now_ += by;
    Step step = MakeStep();
    if (requester_->next_time() <= now_) requester_->OnTime(step);
  }

  struct Ended {
    uint64_t id;
    CompletionStatus status;
    friend bool operator==(const Ended&, const Ended&) = default;
  };
  std::vector<Ended> Poll() {
    std::array<Completion, 64> completions;
    const size_t count = cq_->Poll(completions).value();
    std::vector<Ended> ended;
    for (size_t i = 0; i < count; ++i) {
      ended.push_back({completions[i].id.value(), completions[i].status});
    }
    return ended;
  }
  static std::vector<uint32_t> PsnsOf(const std::vector<Sent>& sent) {
    std::vector<uint32_t> psns;
    for (const Sent& packet : sent) psns.push_back(packet.bth.psn.value());
    return psns;
  }
  using Psns = std::vector<uint32_t>;
  using All = std::vector<Ended>;

  RcConfig config_;
  std::unique_ptr<memory::MemoryCore> core_;
  std::vector<std::byte> arena_;
  Key key_;
  std::unique_ptr<queue::SendQueue> queue_;
  std::unique_ptr<queue::CompletionQueue> cq_;
  std::unique_ptr<Outbox> outbox_;
  std::unique_ptr<Requester> requester_;
  std::vector<PageRequest> requests_;
  std::vector<SegmentReport> reports_;
  bool in_doubt_ = false;  // whether a path may lose UDP segments
  uint64_t posted_ = 0;
  bool marks_fault_ = false;
  bool may_begin_ = true;
  Time now_;
};

}  // namespace verbena::transport
