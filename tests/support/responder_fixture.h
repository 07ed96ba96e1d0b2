#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/signal_guard.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "tests/support/memory_fixture.h"
#include "tests/support/out_packets.h"
#include "tests/support/pages.h"
#include "tests/support/wire_packets.h"
#include "transport/rc/responder.h"
#include "transport/rc/response_marks.h"
#include "wire/roce/aeth.h"
#include "wire/roce/atomic_ack_eth.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/feth.h"
#include "wire/roce/ieth.h"
#include "wire/roce/immdt.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"

namespace verbena::transport {

using Bytes = std::vector<std::byte>;

// A request. Fields of headers that the opcode does not have are ignored.
struct Request {
  wire::Operation operation = wire::Operation::kSend;
  wire::Position position = wire::Position::kOnly;
  wire::Companion companion = wire::Companion::kNone;
  Bytes payload = {};
  wire::Reth reth = {};
  wire::AtomicEth atomic = {};
  wire::Feth feth = {.placement = wire::Feth::kGlobalVisibility};
  uint32_t immediate = 0;
  uint32_t invalidate = 0;
  bool solicited = false;
};

// A packet that the responder sent.
struct Answer {
  wire::Operation operation{};
  wire::Position position{};
  uint32_t psn = 0;
  std::optional<wire::Aeth> aeth = {};
  bool is_for_pages = false;  // a NAK marked as caused by absent pages
  std::optional<uint64_t> original = {};
  Bytes payload = {};
  bool single = false;

  bool IsAck(uint32_t of) const {
    return operation == wire::Operation::kAcknowledge && psn == of && aeth->syndrome.is_ack();
  }
  bool IsNak(uint32_t of, wire::NakCode code) const {
    return operation == wire::Operation::kAcknowledge && psn == of &&
           aeth->syndrome == wire::Syndrome::Nak(code);
  }
  bool IsRnrNak(uint32_t of, wire::RnrTimer timer) const {
    return operation == wire::Operation::kAcknowledge && psn == of &&
           aeth->syndrome == wire::Syndrome::RnrNak(timer);
  }
};

// A responder with a path MTU of 256 and one region of four pages of real memory. The first two
// pages are the target of requests, the last two are receive buffers.
class ResponderFixture : public memory::MemoryFixture {
 protected:
  static constexpr uint32_t kMtu = 256;
  static constexpr uint32_t kStart = wire::kMax24 - 1;  // the PSN wraps at the third packet
  static constexpr wire::RnrTimer kNotReadyTimer{12};

  ResponderFixture() {
    memory::SignalGuard::Install();
    region_ = LinearRegion(AddressOf(0), arena_.size());
    config_.local_qp = QpNumber(1);
    config_.remote_qp = QpNumber(0x123456);
    config_.path = PathId(9);
    config_.path_mtu = kMtu;
    config_.who = me_;
    config_.min_rnr_timer = kNotReadyTimer;
    config_.max_dest_rd_atomic = 2;
    config_.remote_rights = Access::kRemote;
    Begin();
  }
  ~ResponderFixture() override {
    EXPECT_TRUE(responder_->IsConsistent());
    memory::SignalGuard::Uninstall();
  }

  // Restarts the responder after the test has changed config_.
  void Begin() { BeginOn(ReceiveSource(own_)); }
  void BeginOn(ReceiveSource source) {
    responder_.emplace(config_, source, cq_);
    responder_->Start(Psn(kStart));
    psn_ = Psn(kStart);
  }

  // ---- Memory.

  std::byte* At(uint64_t offset) const { return arena_.data() + offset; }
  uint64_t AddressOf(uint64_t offset) const { return reinterpret_cast<uintptr_t>(At(offset)); }
  Bytes Read(uint64_t offset, size_t size) const { return {At(offset), At(offset) + size}; }
  uint64_t WordAt(uint64_t offset) const {
    uint64_t word = 0;
    std::memcpy(&word, At(offset), sizeof word);
    return word;
  }
  void SetWord(uint64_t offset, uint64_t word) { std::memcpy(At(offset), &word, sizeof word); }
  static Bytes Pattern(size_t size, uint8_t first = 1) {
    Bytes bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(first++ % 251);
    return bytes;
  }
  void TakePagesAway(uint64_t first, uint64_t count) {
    EXPECT_TRUE(Succeeds(core_.regions.UnmapPages(region_.local, first, count)));
  }
  void PageIn(uint64_t first, uint64_t count) {
    EXPECT_TRUE(Succeeds(core_.regions.MapPages(region_.local, first, count, std::nullopt, true)));
  }
  wire::Reth RethOf(uint64_t offset, uint32_t length) const {
    return {
        .address = KeyAddress(AddressOf(offset)), .r_key = region_.remote, .dma_length = length};
  }
  Request WriteOnly(uint64_t offset, const Bytes& payload) const {
    return {.operation = wire::Operation::kWrite,
            .payload = payload,
            .reth = RethOf(offset, static_cast<uint32_t>(payload.size()))};
  }
  wire::AtomicEth AtomicOf(uint64_t offset, uint64_t swap_or_add, uint64_t compare = 0) const {
    return {.address = KeyAddress(AddressOf(offset)),
            .r_key = region_.remote,
            .swap_or_add = swap_or_add,
            .compare = compare};
  }

  // ---- Receive requests and their completions.

  Sge SgeOf(uint64_t offset, uint32_t length) const {
    return {.address = AddressOf(offset), .length = length, .key = region_.local};
  }
  void PostReceive(uint64_t id, const std::vector<Sge>& sges) {
    EXPECT_TRUE(own_.Post({.wqe = {.id = WrId(id)}, .sges = sges}).has_value());
  }
  // Posts a receive buffer in the third page.
  void PostReceive(uint64_t id, uint32_t length = 4096) {
    PostReceive(id, {SgeOf(2 * memory::kPage, length)});
  }
  std::vector<Completion> Completions() {
    std::vector<Completion> completions(cq_.capacity());
    completions.resize(cq_.Poll(completions).value_or(0));
    return completions;
  }

  // ---- Packets.

  void Deliver(const Request& request, Psn psn) {
    const wire::OpcodeInfo* const info = wire::FindOpcode(wire::Service::kRc, request.operation,
                                                          request.position, request.companion);
    ASSERT_NE(info, nullptr);
    DeliverAs(*info, request, psn);
  }
  // Delivers a request with the next PSN. A read takes as many PSNs as it has responses.
  void Deliver(const Request& request) {
    const Psn psn = psn_;
    const bool is_read = request.operation == wire::Operation::kReadRequest;
    psn_ = psn_ + (is_read ? PsnCountOf(request.reth.dma_length, kMtu) : 1);
    Deliver(request, psn);
  }
  void DeliverAs(const wire::OpcodeInfo& info, const Request& request, Psn psn) {
    wire::AllHeaders headers{.feth = request.feth,
                             .reth = request.reth,
                             .atomic_eth = request.atomic,
                             .immdt = {.data = request.immediate},
                             .ieth = {.r_key = Key(request.invalidate)}};
    headers.bth = {.opcode = info.opcode,
                   .solicited_event = request.solicited,
                   .dest_qp = config_.local_qp,
                   .psn = psn};
    const Bytes bytes = wire::BuildPacket(info, headers, request.payload);
    const auto packet = wire::Packet::Parse(bytes);
    ASSERT_TRUE(packet.has_value());
    Step step = MakeStep();
    responder_->OnRequest(*packet, step);
    EXPECT_TRUE(responder_->IsConsistent());
  }

  Step MakeStep() {
    return {.now = now_,
            .memory = core_,
            .outbox = outbox_,
            .page_service = page_service_,
            .segments_in_doubt = in_doubt_};
  }

  // Runs the responder and returns the packets that it sends.
  std::vector<Answer> Answers() {
    Step step = MakeStep();
    responder_->Pump(step);
    std::vector<Answer> answers;
    for (const OutPacket& packet : outbox_.packets()) answers.push_back(AnswerOf(packet));
    for (const RaisedEvent& event : outbox_.events()) events_.push_back(event.type);
    for (const PageRequest& request : outbox_.page_requests()) requests_.push_back(request);
    for (const SegmentReport& report : outbox_.segment_reports()) reports_.push_back(report);
    completion_events_ += outbox_.completion_events().size();
    outbox_.Clear();
    return answers;
  }
  // The only packet that it sends. Fails the test and returns a default if there is not exactly
  // one.
  Answer OneAnswer() {
    const std::vector<Answer> answers = Answers();
    EXPECT_EQ(answers.size(), 1u);
    return answers.size() == 1 ? answers[0] : Answer{.aeth = wire::Aeth{}};
  }
  void PagesReady(FaultTicket ticket, bool available = true) {
    Step step = MakeStep();
    responder_->OnPagesReady(ticket, available, step);
  }

  void Advance(Duration by) {
    now_ += by;
    Step step = MakeStep();
    if (responder_->next_time() <= now_) responder_->OnTime(step);
  }

  Answer AnswerOf(const OutPacket& out) const {
    EXPECT_EQ(out.path, config_.path);
    EXPECT_EQ(out.source_qp, config_.local_qp);
    const Bytes bytes = BytesOf(out);
    const auto packet = wire::Packet::Parse(bytes);
    if (!packet) {
      ADD_FAILURE() << "not a packet";
      return {};
    }
    EXPECT_EQ(packet->bth().dest_qp, config_.remote_qp);
    EXPECT_EQ(packet->payload().size(), out.payload_size);
    Answer answer{.operation = packet->info().operation,
                  .position = packet->info().position,
                  .psn = packet->bth().psn.value(),
                  .aeth = packet->Get<wire::Aeth>(),
                  .is_for_pages = IsMarkedFault(packet->bth()),
                  .original = std::nullopt,
                  .payload = {packet->payload().begin(), packet->payload().end()},
                  .single = out.single};
    if (const auto eth = packet->Get<wire::AtomicAckEth>()) answer.original = eth->original;
    return answer;
  }

  // The PSN of the n-th packet of the connection.
  static uint32_t PsnAt(uint32_t n) { return (Psn(kStart) + n).value(); }

  memory::PagesForTest arena_{4};
  memory::RegionKeys region_;
  RcConfig config_;
  queue::ReceiveQueue own_{{.capacity = 8, .sges_max = 4}};
  queue::CompletionQueue cq_{8};
  Outbox outbox_{16};
  Time now_;
  Duration page_service_ = Duration::Max();  // not measured
  std::optional<Responder> responder_;
  Psn psn_;  // of the next request in order
  std::vector<AsyncEventType> events_;
  std::vector<PageRequest> requests_;
  std::vector<SegmentReport> reports_;
  bool in_doubt_ = false;  // whether a path may lose UDP segments
  size_t completion_events_ = 0;
};

}  // namespace verbena::transport
