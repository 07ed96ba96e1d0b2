#include "transport/rc/requester.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copier.h"
#include "memory/signal_guard.h"
#include "wire/roce/aeth.h"
#include "wire/roce/atomic_ack_eth.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/reth.h"

namespace verbena::transport {
namespace {

using memory::Rights;
using queue::CompletionStatus;
using queue::SendOpcode;
using wire::Psn;

constexpr uint32_t kMtu = 256;
constexpr uint64_t kArena = 64 * 1024;

// A packet as the peer would see it.
struct Sent {
  const wire::OpcodeInfo* info;
  wire::Bth bth;
  std::string payload;
  wire::Reth reth;
  wire::AtomicEth atomic;
};

class RequesterTest : public testing::Test {
 protected:
  RequesterTest() { Reset({}); }

  void Reset(const RcConfig& changes) {
    memory::SignalGuard::Install();
    core_ = std::make_unique<memory::MemoryCore>();
    const auto pd = *core_->domains.Allocate(*core_->consumers.Open({}));
    config_ = changes;
    config_.local_qp = wire::QpNumber(17);
    config_.remote_qp = wire::QpNumber(18);
    config_.path_mtu = kMtu;
    config_.who = {pd, memory::QpNumber(17)};
    arena_.assign(kArena, std::byte{0});
    for (size_t i = 0; i < kArena; ++i) arena_[i] = static_cast<std::byte>(i * 7 + i / 256);
    const uint64_t at = reinterpret_cast<uintptr_t>(arena_.data());
    const memory::RegionSpec spec{.pd = pd,
                                  .start = memory::KeyAddress(at),
                                  .length = kArena,
                                  .rights = Rights::kLocalRead | Rights::kLocalWrite};
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

  queue::Sge Bytes(uint64_t offset, uint32_t length) const {
    return {.address = reinterpret_cast<uintptr_t>(arena_.data()) + offset,
            .length = length,
            .key = queue::KeyValue(key_.value())};
  }
  std::string Text(uint64_t offset, size_t length) const {
    return {reinterpret_cast<const char*>(arena_.data()) + offset, length};
  }

  void Post(SendOpcode opcode, std::vector<queue::Sge> sges, queue::SendOperand operand = {},
            queue::SendFlags flags = {.signaled = true}) {
    queue::SendWqe wqe;
    wqe.id = queue::WrId(++posted_);
    wqe.opcode = opcode;
    wqe.flags = flags;
    wqe.operand = operand;
    ASSERT_TRUE(queue_->Post({.wqe = wqe, .sges = sges}).has_value());
  }
  void PostWrite(uint64_t offset, uint32_t length) {
    Post(SendOpcode::kWrite, {Bytes(offset, length)},
         queue::Remote{.address = 0x1000, .key = queue::KeyValue(7)});
  }
  void PostRead(uint64_t offset, uint32_t length) {
    Post(SendOpcode::kRead, {Bytes(offset, length)},
         queue::Remote{.address = 0x2000, .key = queue::KeyValue(9)});
  }

  Turn MakeTurn() { return {now_, *core_, *outbox_}; }

  // What the requester sends now.
  std::vector<Sent> Pump() {
    Turn turn = MakeTurn();
    requester_->Pump(turn, may_begin_);
    EXPECT_TRUE(requester_->IsConsistent());
    std::vector<Sent> sent;
    for (const OutPacket& packet : outbox_->packets()) sent.push_back(Read(packet));
    for (const PageRequest& request : outbox_->page_requests()) requests_.push_back(request);
    outbox_->Clear();
    return sent;
  }

  static Sent Read(const OutPacket& packet) {
    std::vector<std::byte> bytes(packet.header.begin(),
                                 packet.header.begin() + static_cast<long>(packet.header_size));
    std::vector<std::byte> payload(packet.payload_size);
    if (!packet.inlined.empty()) {
      std::memcpy(payload.data(), packet.inlined.data(), payload.size());
    } else if (packet.payload_size > 0) {
      EXPECT_FALSE(memory::CopyOut(payload, packet.payload).fault.has_value());
    }
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    bytes.resize(bytes.size() + wire::PadFor(payload.size()) + wire::kIcrcSize);
    const auto parsed = wire::Packet::Parse(bytes);
    EXPECT_TRUE(parsed.has_value());
    return {&parsed->info(), parsed->bth(),
            std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
            parsed->Get<wire::Reth>().value_or(wire::Reth()),
            parsed->Get<wire::AtomicEth>().value_or(wire::AtomicEth())};
  }

  template <class... Headers>
  void Respond(wire::Operation operation, wire::Position position, Psn psn,
               std::span<const std::byte> payload, const Headers&... headers) {
    std::array<std::byte, 64 + 4096 + 8> buffer{};
    const wire::OpcodeInfo* info = wire::FindOpcode(wire::Service::kRc, operation, position);
    ASSERT_NE(info, nullptr);
    wire::PacketBuilder builder(buffer,
                                {.opcode = info->opcode, .dest_qp = wire::QpNumber(17), .psn = psn},
                                payload.size());
    (builder.Add(headers), ...);
    const size_t header_size = builder.headers().size();
    if (!payload.empty()) std::memcpy(&buffer[header_size], payload.data(), payload.size());
    const auto packet = wire::Packet::Parse(std::span(buffer).first(builder.size()));
    ASSERT_TRUE(packet.has_value());
    Turn turn = MakeTurn();
    requester_->OnResponse(*packet, turn);
    EXPECT_TRUE(requester_->IsConsistent());
    for (const PageRequest& request : outbox_->page_requests()) requests_.push_back(request);
    outbox_->Clear();
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
    Turn turn = MakeTurn();
    if (requester_->next_time() <= now_) requester_->OnTime(turn);
  }

  struct Ended {
    uint64_t id;
    CompletionStatus status;
    friend bool operator==(const Ended&, const Ended&) = default;
  };
  std::vector<Ended> Poll() {
    std::array<queue::Completion, 64> completions;
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
  memory::Key key_;
  std::unique_ptr<queue::SendQueue> queue_;
  std::unique_ptr<queue::CompletionQueue> cq_;
  std::unique_ptr<Outbox> outbox_;
  std::unique_ptr<Requester> requester_;
  std::vector<PageRequest> requests_;
  uint64_t posted_ = 0;
  bool may_begin_ = true;
  Time now_;
};

TEST_F(RequesterTest, AWriteIsCutIntoPacketsAndCompletesWithItsAcknowledgement) {
  PostWrite(3, 600);
  const auto sent = Pump();
  ASSERT_EQ(PsnsOf(sent), (Psns{100, 101, 102}));
  EXPECT_EQ(sent[0].payload + sent[1].payload + sent[2].payload, Text(3, 600));
  EXPECT_EQ(sent[0].reth.dma_length, 600u);
  EXPECT_EQ(sent[0].info->position, wire::Position::kFirst);
  EXPECT_EQ(sent[2].info->position, wire::Position::kLast);
  EXPECT_TRUE(sent[2].bth.ack_request);
  EXPECT_EQ(Poll(), All{});
  Ack(101);
  EXPECT_EQ(Poll(), All{});
  Ack(102);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
  EXPECT_TRUE(requester_->is_drained());
  EXPECT_EQ(requester_->next_time(), Time::Never());
}

TEST_F(RequesterTest, AnEmptyMessageIsOnePacket) {
  Post(SendOpcode::kSend, {});
  const auto sent = Pump();
  ASSERT_EQ(PsnsOf(sent), Psns{100});
  EXPECT_EQ(sent[0].payload, "");
  Ack(100);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, UnsignaledElementsEndSilentlyAndInOrder) {
  Post(SendOpcode::kSend, {Bytes(0, 10)}, {}, {});
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  EXPECT_EQ(Pump().size(), 2u);
  Ack(101);
  EXPECT_EQ(Poll(), (All{{2, CompletionStatus::kSuccess}}));
  EXPECT_EQ(queue_->begin(), queue_->end());
}

TEST_F(RequesterTest, GathersManyPieces) {
  std::vector<queue::Sge> sges;
  std::string expected;
  for (uint32_t i = 0; i < 16; ++i) {
    sges.push_back(Bytes(i * 1000, 5 + i));
    expected += Text(i * 1000, 5 + i);
  }
  Post(SendOpcode::kSend, sges);
  const auto sent = Pump();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].payload, expected);
}

TEST_F(RequesterTest, ASequenceErrorIsCuredFromThePacketThatIsMissing) {
  PostWrite(0, 4 * kMtu);
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101, 102, 103}));
  Answer(wire::Syndrome::Nak(wire::NakCode::kPsnSequenceError), Psn(102));
  const auto again = Pump();
  ASSERT_EQ(PsnsOf(again), (Psns{102, 103}));
  EXPECT_EQ(again[0].payload, Text(2 * kMtu, kMtu));
  Ack(103);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, TimeoutsAreCountedAndThenFatal) {
  Reset({.ack_timeout = Milliseconds(10), .retry_count = 2});
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  EXPECT_EQ(Pump().size(), 1u);
  for (int i = 0; i < 2; ++i) {
    Advance(Milliseconds(9));
    EXPECT_EQ(Pump().size(), 0u);
    Advance(Milliseconds(1));
    EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  }
  Advance(Milliseconds(10));
  EXPECT_EQ(Pump().size(), 0u);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kRetryExceeded}}));
  EXPECT_TRUE(requester_->has_failed());
}

TEST_F(RequesterTest, RnrWaitsForItsTimerAndCountsUnlessForEver) {
  Reset({.ack_timeout = Milliseconds(10), .rnr_retry = 1});
  const wire::RnrTimer timer(12);
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  Pump();
  Answer(wire::Syndrome::RnrNak(timer), Psn(100));
  EXPECT_EQ(Pump().size(), 0u);
  EXPECT_EQ(requester_->next_time(), now_ + wire::DurationOf(timer));
  Advance(wire::DurationOf(timer));
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  Answer(wire::Syndrome::RnrNak(timer), Psn(100));
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kRnrRetryExceeded}}));
}

TEST_F(RequesterTest, AnUnsolicitedAcknowledgementEndsAnRnrWait) {
  PostWrite(0, 2 * kMtu);
  Pump();
  Answer(wire::Syndrome::RnrNak(wire::RnrTimer(1)), Psn(101));
  EXPECT_EQ(Pump().size(), 0u);
  Ack(100);
  EXPECT_EQ(PsnsOf(Pump()), Psns{101});
}

TEST_F(RequesterTest, ANakEndsItsElementAndThoseBeforeAreFine) {
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  PostWrite(0, 10);
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  Pump();
  Answer(wire::Syndrome::Nak(wire::NakCode::kRemoteAccessError), Psn(101));
  EXPECT_EQ(Poll(),
            (All{{1, CompletionStatus::kSuccess}, {2, CompletionStatus::kRemoteAccessError}}));
  EXPECT_TRUE(requester_->has_failed());
  Turn turn = MakeTurn();
  requester_->Flush(turn);
  EXPECT_EQ(Poll(), (All{{3, CompletionStatus::kFlushed}}));
}

TEST_F(RequesterTest, AReadIsPlacedAndCompletesWithItsLastPacket) {
  PostRead(5000, 2 * kMtu + 10);
  const auto sent = Pump();
  ASSERT_EQ(PsnsOf(sent), Psns{100});
  EXPECT_EQ(sent[0].reth.dma_length, 2 * kMtu + 10);
  const std::string a(kMtu, 'a'), b(kMtu, 'b'), c(10, 'c');
  ReadResponse(wire::Position::kFirst, 100, a);
  ReadResponse(wire::Position::kMiddle, 101, b);
  EXPECT_EQ(Poll(), All{});
  ReadResponse(wire::Position::kLast, 102, c);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
  EXPECT_EQ(Text(5000, 2 * kMtu + 10), a + b + c);
}

TEST_F(RequesterTest, AReadThatWasAnsweredInPartAsksForTheRest) {
  Reset({.max_rd_atomic = 2});
  PostRead(0, 4 * kMtu);
  Pump();
  ReadResponse(wire::Position::kFirst, 100, std::string(kMtu, 'a'));
  ReadResponse(wire::Position::kMiddle, 102, std::string(kMtu, 'c'));  // 101 is lost
  const auto again = Pump();
  ASSERT_EQ(PsnsOf(again), Psns{101});
  EXPECT_EQ(again[0].reth.address.value(), 0x2000 + kMtu);
  EXPECT_EQ(again[0].reth.dma_length, 3 * kMtu);
  ReadResponse(wire::Position::kFirst, 101, std::string(kMtu, 'b'));
  ReadResponse(wire::Position::kMiddle, 102, std::string(kMtu, 'c'));
  ReadResponse(wire::Position::kLast, 103, std::string(kMtu, 'd'));
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, ALongReadAsksForAWindowAtATime) {
  constexpr uint32_t kWindow = CongestionWindow::kInitial;
  PostRead(0, (kWindow + 10) * kMtu);
  PostWrite(0, 10);
  auto sent = Pump();
  ASSERT_EQ(PsnsOf(sent), Psns{100});
  EXPECT_EQ(sent[0].reth.dma_length, kWindow * kMtu);
  const std::string full(kMtu, 'r');
  const auto answer = [&](uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; ++i) ReadResponse(wire::Position::kMiddle, 100 + i, full);
  };
  answer(0, 40);
  EXPECT_EQ(Pump().size(), 0u);
  // What was lost is asked for as far as it was, and no further.
  answer(41, 42);
  sent = Pump();
  ASSERT_EQ(PsnsOf(sent), Psns{140});
  EXPECT_EQ(sent[0].reth.dma_length, (kWindow - 40) * kMtu);
  EXPECT_EQ(sent[0].reth.address.value(), 0x2000u + 40 * kMtu);
  answer(40, kWindow);
  sent = Pump();
  ASSERT_EQ(PsnsOf(sent), (Psns{100 + kWindow, 100 + kWindow + 10}));
  EXPECT_EQ(sent[0].reth.dma_length, 10 * kMtu);
  answer(kWindow, kWindow + 9);
  EXPECT_EQ(Poll(), All{});
  ReadResponse(wire::Position::kLast, 100 + kWindow + 9, full);
  Ack(100 + kWindow + 10);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}, {2, CompletionStatus::kSuccess}}));
  EXPECT_EQ(Text(0, kMtu), full);
}

TEST_F(RequesterTest, AnAcknowledgementBeyondAReadImpliesThatItsAnswerIsLost) {
  PostRead(0, 10);
  Post(SendOpcode::kSend, {Bytes(100, 10)});
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101}));
  Ack(101);
  EXPECT_EQ(Poll(), All{});
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101}));
}

TEST_F(RequesterTest, NoMoreReadsAreUnderWayThanAllowedAndFencesWait) {
  PostRead(0, 10);
  PostRead(0, 10);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  ReadResponse(wire::Position::kOnly, 100, std::string(10, 'a'));
  EXPECT_EQ(PsnsOf(Pump()), Psns{101});
  Post(SendOpcode::kSend, {Bytes(0, 1)}, {}, {.signaled = true, .fence = true});
  EXPECT_EQ(Pump().size(), 0u);
  ReadResponse(wire::Position::kOnly, 101, std::string(10, 'a'));
  EXPECT_EQ(PsnsOf(Pump()), Psns{102});
}

TEST_F(RequesterTest, AnAtomicBringsTheWordThatWas) {
  Post(SendOpcode::kCompareAndSwap, {Bytes(64, 8)},
       queue::Atomic{.remote = {.address = 0x3000, .key = queue::KeyValue(3)},
                     .compare_or_add = 5,
                     .swap = 6});
  const auto sent = Pump();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].atomic.compare, 5u);
  EXPECT_EQ(sent[0].atomic.swap_or_add, 6u);
  Respond(wire::Operation::kAtomicAcknowledge, wire::Position::kOnly, Psn(100), {}, wire::Aeth{},
          wire::AtomicAckEth{.original = 0x1122334455667788});
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
  uint64_t word = 0;
  std::memcpy(&word, arena_.data() + 64, sizeof word);
  EXPECT_EQ(word, 0x1122334455667788u);
}

TEST_F(RequesterTest, AFlushAndAnAtomicWriteAreAnsweredByAReadOfNothing) {
  Reset({.max_rd_atomic = 2});
  Post(SendOpcode::kFlush, {},
       queue::Flush{.remote = {.address = 0x1000, .key = queue::KeyValue(7)},
                    .length = 100,
                    .global_visibility = true});
  Post(SendOpcode::kAtomicWrite, {Bytes(8, 8)},
       queue::Remote{.address = 0x1000, .key = queue::KeyValue(7)});
  const auto sent = Pump();
  ASSERT_EQ(PsnsOf(sent), (Psns{100, 101}));
  EXPECT_EQ(sent[0].reth.dma_length, 100u);
  EXPECT_EQ(sent[1].payload, Text(8, 8));
  ReadResponse(wire::Position::kOnly, 100, "");
  ReadResponse(wire::Position::kOnly, 101, "");
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}, {2, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, AForeignKeyFailsTheElementAndTouchesNothing) {
  queue::Sge wrong = Bytes(0, 10);
  wrong.key = queue::KeyValue(wrong.key.value() ^ 1);
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  Post(SendOpcode::kSend, {wrong});
  EXPECT_EQ(Pump().size(), 1u);
  EXPECT_EQ(Poll(), All{});  // the first one is not answered yet
  Ack(100);
  EXPECT_EQ(Poll(),
            (All{{1, CompletionStatus::kSuccess}, {2, CompletionStatus::kLocalProtectionError}}));
}

TEST_F(RequesterTest, MissingPagesStallThisQueuePairWithoutATimeout) {
  Reset({.ack_timeout = Milliseconds(10)});
  MapAll(false);
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  EXPECT_EQ(Pump().size(), 0u);
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_EQ(requester_->next_time(), Time::Never());
  MapAll(true);
  Turn turn = MakeTurn();
  requester_->OnPagesReady(requests_[0].ticket, true, turn);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
}

TEST_F(RequesterTest, PagesThatCannotBeHadDoNotMatterOnceTheElementHasEnded) {
  Reset({.ack_timeout = Milliseconds(10)});
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  MapAll(false);
  Advance(Milliseconds(10));
  EXPECT_EQ(Pump().size(), 0u);  // it is to be sent again, and its page is gone
  ASSERT_EQ(requests_.size(), 1u);
  Ack(100);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
  Turn turn = MakeTurn();
  requester_->OnPagesReady(requests_[0].ticket, false, turn);
  EXPECT_FALSE(requester_->has_failed());
}

TEST_F(RequesterTest, MissingPagesOfAReadAskAgainForWhatWasDropped) {
  PostRead(0, 2 * kMtu);
  Pump();
  MapAll(false);
  ReadResponse(wire::Position::kFirst, 100, std::string(kMtu, 'a'));
  ASSERT_EQ(requests_.size(), 1u);
  MapAll(true);
  Turn turn = MakeTurn();
  requester_->OnPagesReady(requests_[0].ticket, true, turn);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  ReadResponse(wire::Position::kFirst, 100, std::string(kMtu, 'a'));
  ReadResponse(wire::Position::kLast, 101, std::string(kMtu, 'b'));
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, ADelayPausesTheQueue) {
  Post(SendOpcode::kDelay, {}, queue::Delay{Milliseconds(5)});
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  EXPECT_EQ(Pump().size(), 0u);
  EXPECT_EQ(requester_->next_time(), now_ + Milliseconds(5));
  Advance(Milliseconds(5));
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
}

TEST_F(RequesterTest, SequenceNumbersWrap) {
  requester_->Start(Psn(0xfffffe));
  PostWrite(0, 4 * kMtu);
  EXPECT_EQ(PsnsOf(Pump()), (Psns{0xfffffe, 0xffffff, 0, 1}));
  Answer(wire::Syndrome::Nak(wire::NakCode::kPsnSequenceError), Psn(0));
  EXPECT_EQ(PsnsOf(Pump()), (Psns{0, 1}));
  Ack(1);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, GhostsAreIgnored) {
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  Pump();
  Ack(500);
  Answer(wire::Syndrome::Nak(wire::NakCode::kRemoteAccessError), Psn(99));
  ReadResponse(wire::Position::kOnly, 100, "x");
  EXPECT_EQ(Poll(), All{});
  EXPECT_FALSE(requester_->has_failed());
  Ack(100);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, WhileItDrainsWhatIsBegunGoesOnAndNothingElse) {
  PostWrite(0, 600);
  Pump();
  PostWrite(0, 10);
  may_begin_ = false;
  EXPECT_EQ(Pump().size(), 0u);
  Answer(wire::Syndrome::Nak(wire::NakCode::kPsnSequenceError), Psn(101));
  EXPECT_EQ(PsnsOf(Pump()), (Psns{101, 102}));
  EXPECT_FALSE(requester_->is_drained());
  Ack(102);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
  EXPECT_EQ(Pump().size(), 0u);
  EXPECT_TRUE(requester_->is_drained());
  may_begin_ = true;
  EXPECT_EQ(PsnsOf(Pump()), Psns{103});
}

// Rows B2 and B3. The key is one that was never handed out.
class RequesterRegistrationTest : public RequesterTest {
 protected:
  void Begin(RegistrationMode mode) {
    RcConfig config;
    config.registration = mode;
    Reset(config);
  }
  void PostBadRegistration() { Post(SendOpcode::kRegister, {}, queue::Registration{}); }
};

TEST_F(RequesterRegistrationTest, IsRefusedUnlessItIsEnabled) {
  Begin(RegistrationMode::kDisabled);
  PostBadRegistration();
  Pump();
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kLocalQpOperationError}}));
  EXPECT_TRUE(requester_->has_failed());
}

TEST_F(RequesterRegistrationTest, AnticipatoryAFailureIsTheEnd) {
  Begin(RegistrationMode::kAnticipatory);
  PostBadRegistration();
  PostWrite(0, 10);
  EXPECT_EQ(Pump().size(), 0u);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kLocalQpOperationError}}));
  EXPECT_TRUE(requester_->has_failed());
  EXPECT_FALSE(requester_->TakeSetback());
}

TEST_F(RequesterRegistrationTest, ReactiveAFailureCostsTheWorkBehindItOnly) {
  Begin(RegistrationMode::kReactive);
  PostWrite(0, 10);
  PostBadRegistration();
  PostWrite(0, 20);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  EXPECT_EQ(Poll(), All{});  // it fails in its turn
  Ack(100);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess},
                         {2, CompletionStatus::kLocalQpOperationError},
                         {3, CompletionStatus::kFlushed}}));
  EXPECT_FALSE(requester_->has_failed());
  PostWrite(0, 30);
  EXPECT_EQ(Pump().size(), 0u);  // not before the queue pair has taken notice
  EXPECT_TRUE(requester_->TakeSetback());
  EXPECT_FALSE(requester_->TakeSetback());
  EXPECT_EQ(PsnsOf(Pump()), Psns{101});
  Ack(101);
  EXPECT_EQ(Poll(), (All{{4, CompletionStatus::kSuccess}}));
}

}  // namespace
}  // namespace verbena::transport
