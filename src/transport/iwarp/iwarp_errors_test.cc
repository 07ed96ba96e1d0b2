// What a peer may not do, and the Terminate message that it gets.

#include <functional>

#include <gtest/gtest.h>

#include "tests/support/iwarp_end.h"
#include "tests/support/wire_header.h"
#include "wire/iwarp/rdmap_atomic.h"
#include "wire/iwarp/rdmap_immediate.h"
#include "wire/iwarp/rdmap_read_request.h"

namespace verbena::transport {
namespace {

using scenario::Bytes;
using scenario::IwarpEnd;
using scenario::IwarpSpec;
using scenario::RcNode;
using wire::DdpQueue;
using wire::DdpTagged;
using wire::DdpUntagged;
using wire::RdmapOpcode;
using wire::TerminateCode;

constexpr uint64_t kPage = RcNode::kPage;

// A queue pair whose peer sends segments of any kind.
class IwarpErrorsTest : public testing::Test {
 protected:
  IwarpErrorsTest() {
    memory::SignalGuard::Install();
    Begin();
  }
  ~IwarpErrorsTest() override {
    End();
    memory::SignalGuard::Uninstall();
  }

  void Begin(const IwarpSpec& spec = {}) {
    if (end_) End();
    end_ = std::make_unique<IwarpEnd>(spec);
    end_->qp->Connect(end_->buffer);
    peer_buffer_.Clear();
    peer_ = std::make_unique<MpaSender>(spec.config.stream, peer_buffer_);
  }
  void End() const {
    end_->qp->BecomeFailed();
    end_->Run();
    EXPECT_TRUE(end_->node.core.IsConsistent());
  }

  // ---- Segments of the peer.

  void Send(const Bytes& segment) {
    ASSERT_TRUE(peer_->Begin(segment.size()));
    std::ranges::copy(segment, peer_->ulpdu().begin());
    peer_->End();
    Bytes bytes(peer_buffer_.bytes()[0].begin(), peer_buffer_.bytes()[0].end());
    peer_buffer_.Consume(bytes.size());
    end_->Arrive(bytes);
  }
  template <class Header>
  void Send(const Header& header, const Bytes& payload = {}) {
    Bytes segment = wire::Written(header);
    segment.insert(segment.end(), payload.begin(), payload.end());
    Send(segment);
  }
  DdpTagged WriteTo(uint64_t offset) const {
    return {.control = {.tagged = true, .last = true, .opcode = RdmapOpcode::kWrite},
            .stag = end_->node.keys.remote,
            .offset = KeyAddress(RcNode::kBase + offset)};
  }
  static DdpUntagged Message(RdmapOpcode opcode, uint32_t msn = 1) {
    return {.control = {.last = true, .opcode = opcode},
            .queue = wire::FindRdmapOpcode(opcode)->queue,
            .msn = wire::DdpMsn(msn)};
  }
  wire::RdmapReadRequest ReadOf(uint64_t offset, uint32_t size) const {
    return {.sink_stag = Key(5),
            .size = size,
            .source_stag = end_->node.keys.remote,
            .source_offset = KeyAddress(RcNode::kBase + offset)};
  }
  void SendRead(const wire::RdmapReadRequest& read, uint32_t msn = 1) {
    Send(Message(RdmapOpcode::kReadRequest, msn), wire::Written(read));
  }
  wire::RdmapAtomicRequest AddTo(uint64_t offset) const {
    return {.opcode = wire::RdmapAtomicOpcode::kFetchAdd,
            .stag = end_->node.keys.remote,
            .offset = KeyAddress(RcNode::kBase + offset),
            .add_or_swap = 1};
  }

  static Sge Stranger() { return {RcNode::kBase, 8, Key(12345)}; }

  // ---- What it leads to.

  // The stream is terminated with this code, and the message about it is the last one.
  void ExpectTerminated(TerminateCode code) {
    end_->Run();
    EXPECT_EQ(end_->qp->state(), QpState::kErr);
    ASSERT_TRUE(end_->qp->terminate_sent().has_value());
    EXPECT_EQ(end_->qp->terminate_sent()->code, code) << ToString(*end_->qp->terminate_sent());
    const Bytes bytes = end_->TakeBytes();
    ASSERT_FALSE(bytes.empty());
    MpaReceiver receiver(end_->config.stream);
    Bytes copy = bytes;
    std::optional<Bytes> last;
    for (size_t at = 0; at < copy.size();) {
      const auto found = receiver.Find(std::span(copy).subspan(at));
      ASSERT_EQ(found.outcome, MpaReceiver::Outcome::kFrame);
      last = Bytes(found.frame.ulpdu.begin(), found.frame.ulpdu.end());
      receiver.Deliver(found.frame);
      at = found.frame.end.value();
    }
    const auto header = DdpUntagged::Parse(*last);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->control.opcode, RdmapOpcode::kTerminate);
    EXPECT_EQ(header->queue, DdpQueue::kTerminate);
    EXPECT_EQ(wire::RdmapTerminate::Parse(std::span(*last).subspan(DdpUntagged::kSize)),
              end_->qp->terminate_sent());
  }

  std::unique_ptr<IwarpEnd> end_;
  SendBuffer peer_buffer_{100'000};
  std::unique_ptr<MpaSender> peer_;
};

TEST_F(IwarpErrorsTest, ABadCrcEndsTheStream) {
  ASSERT_TRUE(peer_->Begin(20));
  std::ranges::fill(peer_->ulpdu(), std::byte{1});
  peer_->End();
  Bytes bytes(peer_buffer_.bytes()[0].begin(), peer_buffer_.bytes()[0].end());
  bytes.back() ^= std::byte{1};
  end_->Arrive(bytes);
  ExpectTerminated(TerminateCode::kMpaCrc);
  EXPECT_EQ(end_->qp->terminate_sent()->header.index(), 0);
}

TEST_F(IwarpErrorsTest, AWrongMarkerEndsTheStream) {
  IwarpSpec spec;
  spec.config.stream = {
      .send_markers = true, .receive_markers = true, .crc = false, .ulpdu_max = 300};
  Begin(spec);
  Send(WriteTo(0), Bytes(250));
  ASSERT_TRUE(peer_->Begin(260));
  WriteTo(0).Serialize(peer_->ulpdu());
  peer_->End();
  Bytes bytes(peer_buffer_.bytes()[0].begin(), peer_buffer_.bytes()[0].end());
  const size_t marker = wire::MpaMarker::kInterval - end_->taken_end.value();
  bytes[marker + 3] ^= std::byte{4};
  end_->Arrive(bytes);
  ExpectTerminated(TerminateCode::kMpaMarker);
}

TEST_F(IwarpErrorsTest, EveryVersionButTheFirstIsRefused) {
  DdpTagged tagged = WriteTo(0);
  tagged.control.ddp_version = 2;
  Send(tagged);
  ExpectTerminated(TerminateCode::kDdpTaggedVersion);
  Begin();
  DdpUntagged untagged = Message(RdmapOpcode::kSend);
  untagged.control.ddp_version = 0;
  Send(untagged);
  ExpectTerminated(TerminateCode::kDdpUntaggedVersion);
  for (const uint8_t version : {uint8_t{0}, uint8_t{2}}) {
    Begin();
    tagged = WriteTo(0);
    tagged.control.rdmap_version = version;
    Send(tagged);
    ExpectTerminated(TerminateCode::kRdmapVersion);
  }
}

TEST_F(IwarpErrorsTest, OpcodesMustFitTheirKindOfSegmentAndTheirQueue) {
  DdpTagged tagged = WriteTo(0);
  tagged.control.opcode = RdmapOpcode::kSend;
  Send(tagged);
  ExpectTerminated(TerminateCode::kRdmapUnexpectedOpcode);
  for (uint8_t opcode = 0; opcode < 16; ++opcode) {
    for (uint32_t queue = 0; queue < wire::kDdpQueueCount; ++queue) {
      const auto* const info = wire::FindRdmapOpcode(static_cast<RdmapOpcode>(opcode));
      const bool fits =
          info != nullptr && !info->is_tagged && info->queue == static_cast<DdpQueue>(queue);
      if (fits) continue;
      Begin();
      Send(DdpUntagged{.control = {.last = true, .opcode = static_cast<RdmapOpcode>(opcode)},
                       .queue = static_cast<DdpQueue>(queue),
                       .msn = wire::kFirstDdpMsn});
      ExpectTerminated(TerminateCode::kRdmapUnexpectedOpcode);
    }
  }
}

TEST_F(IwarpErrorsTest, ThereAreFourQueues) {
  DdpUntagged header = Message(RdmapOpcode::kSend);
  header.queue = static_cast<DdpQueue>(4);
  Send(header);
  ExpectTerminated(TerminateCode::kDdpUntaggedQueue);
}

TEST_F(IwarpErrorsTest, ASegmentMustHaveItsHeaders) {
  Bytes write = wire::Written(WriteTo(0));
  write.pop_back();
  Send(write);
  ExpectTerminated(TerminateCode::kRdmapOperationUnspecified);
  for (const auto opcode : {RdmapOpcode::kReadRequest, RdmapOpcode::kAtomicRequest,
                            RdmapOpcode::kImmediate, RdmapOpcode::kAtomicResponse}) {
    const size_t body = wire::FindRdmapOpcode(opcode)->body;
    for (const size_t size : {body - 1, body + 1}) {
      Begin();
      Send(Message(opcode), Bytes(size));
      ExpectTerminated(TerminateCode::kRdmapOperationUnspecified);
    }
  }
  Begin();
  Send(Bytes(1));
  ExpectTerminated(TerminateCode::kRdmapOperationUnspecified);
}

// Row B8: each check of a write has its code, and the header of the segment comes back.
TEST_F(IwarpErrorsTest, AWriteThatIsRefusedNamesTheCheck) {
  const struct {
    TerminateCode code;
    std::function<void(DdpTagged&)> change;
  } rows[] = {
      {TerminateCode::kDdpTaggedInvalidStag, [](DdpTagged& write) { write.stag = Key(12345); }},
      {TerminateCode::kDdpTaggedInvalidStag,
       [](DdpTagged& write) { write.stag = NextKey(write.stag); }},
      {TerminateCode::kDdpTaggedBounds,
       [](DdpTagged& write) { write.offset = KeyAddress(RcNode::kBase + 8 * kPage - 9); }},
      {TerminateCode::kDdpTaggedBounds,
       [](DdpTagged& write) { write.offset = KeyAddress(RcNode::kBase - 1); }},
      {TerminateCode::kDdpTaggedWrap,
       [](DdpTagged& write) { write.offset = KeyAddress(UINT64_MAX - 8); }},
  };
  for (const auto& row : rows) {
    Begin();
    DdpTagged write = WriteTo(0);
    row.change(write);
    Send(write, Bytes(10));
    ExpectTerminated(row.code);
    const wire::RdmapTerminate& terminate = *end_->qp->terminate_sent();
    EXPECT_EQ(terminate.segment_length, DdpTagged::kSize + 10);
    EXPECT_EQ(std::get<DdpTagged>(terminate.header), write);
    EXPECT_EQ(terminate.read_request, std::nullopt);
    EXPECT_EQ(end_->node.Read(0, 10), Bytes(10));
  }
  EXPECT_EQ(end_->events.size(), 1);
}

TEST_F(IwarpErrorsTest, AKeyOfAnotherDomainOrWithoutTheRightIsRefused) {
  auto& node = end_->node;
  const memory::PdId other = *node.core.domains.Allocate(*node.core.consumers.Open({}));
  const auto foreign = node.Register(
      {.pd = other, .start = KeyAddress(RcNode::kBase), .length = kPage, .rights = Access::kAll},
      0);
  DdpTagged write = WriteTo(0);
  write.stag = foreign->remote;
  Send(write, Bytes(10));
  ExpectTerminated(TerminateCode::kDdpTaggedNotAssociated);

  Begin();
  const auto read_only = end_->node.Register({.pd = end_->node.pd,
                                              .start = KeyAddress(RcNode::kBase),
                                              .length = kPage,
                                              .rights = Access::kLocalRead | Access::kRemoteRead},
                                             0);
  write = WriteTo(0);
  write.stag = read_only->remote;
  Send(write, Bytes(10));
  ExpectTerminated(TerminateCode::kRdmapAccess);
}

TEST_F(IwarpErrorsTest, AReadThatIsRefusedNamesTheCheckAndTheRequest) {
  const struct {
    TerminateCode code;
    std::function<void(wire::RdmapReadRequest&)> change;
  } rows[] = {
      {TerminateCode::kRdmapInvalidStag, [](auto& read) { read.source_stag = Key(12345); }},
      {TerminateCode::kRdmapBounds, [](auto& read) { read.size = 8 * kPage + 1; }},
      {TerminateCode::kRdmapWrap, [](auto& read) { read.source_offset = KeyAddress(UINT64_MAX); }},
  };
  for (const auto& row : rows) {
    Begin();
    wire::RdmapReadRequest read = ReadOf(0, 100);
    row.change(read);
    SendRead(read);
    ExpectTerminated(row.code);
    const wire::RdmapTerminate& terminate = *end_->qp->terminate_sent();
    EXPECT_EQ(std::get<DdpUntagged>(terminate.header), Message(RdmapOpcode::kReadRequest));
    EXPECT_EQ(terminate.read_request, read);
  }
}

TEST_F(IwarpErrorsTest, OperationsThatTheQueuePairDoesNotAllowAreRefused) {
  const auto begin_without = [this](Access right) {
    IwarpSpec spec;
    spec.config.remote_rights = Access::kNone;
    for (const Access other : {Access::kRemoteRead, Access::kRemoteWrite, Access::kRemoteAtomic}) {
      if (other != right) spec.config.remote_rights = spec.config.remote_rights | other;
    }
    Begin(spec);
  };
  begin_without(Access::kRemoteWrite);
  Send(WriteTo(0), Bytes(10));
  ExpectTerminated(TerminateCode::kRdmapAccess);
  begin_without(Access::kRemoteRead);
  SendRead(ReadOf(0, 10));
  ExpectTerminated(TerminateCode::kRdmapAccess);
  begin_without(Access::kRemoteAtomic);
  Send(Message(RdmapOpcode::kAtomicRequest), wire::Written(AddTo(0)));
  ExpectTerminated(TerminateCode::kRdmapAccess);
}

TEST_F(IwarpErrorsTest, ASendNeedsAReceive) {
  Send(Message(RdmapOpcode::kSend), Bytes(10));
  ExpectTerminated(TerminateCode::kDdpUntaggedNoBuffer);
  EXPECT_EQ(end_->events, std::vector{AsyncEventType::kQpRequestError});
}

TEST_F(IwarpErrorsTest, ASendMustFitItsReceive) {
  end_->PostReceive(1, 0, 9);
  end_->PostReceive(2, 0, 9);
  Send(Message(RdmapOpcode::kSend), Bytes(10));
  ExpectTerminated(TerminateCode::kDdpUntaggedTooLong);
  const auto received = end_->Received();
  ASSERT_EQ(received.size(), 2);
  EXPECT_EQ(received[0].status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(received[1].status, CompletionStatus::kFlushed);
  EXPECT_TRUE(end_->events.empty());
}

// Of each queue.
TEST_F(IwarpErrorsTest, MessageSequenceNumbersHaveNoGap) {
  for (const uint32_t msn : {0U, 2U}) {
    Begin();
    end_->PostReceive(1, 0, 100);
    Send(Message(RdmapOpcode::kSend, msn), Bytes(10));
    ExpectTerminated(TerminateCode::kDdpUntaggedMsnRange);
    Begin();
    end_->PostReceive(1, 0, 100);
    Send(Message(RdmapOpcode::kImmediate, msn), Bytes(8));
    ExpectTerminated(TerminateCode::kDdpUntaggedMsnRange);
    Begin();
    SendRead(ReadOf(0, 10), msn);
    ExpectTerminated(TerminateCode::kDdpUntaggedMsnRange);
    Begin();
    Send(Message(RdmapOpcode::kAtomicRequest, msn), wire::Written(AddTo(0)));
    ExpectTerminated(TerminateCode::kDdpUntaggedMsnRange);
  }
}

TEST_F(IwarpErrorsTest, SegmentsOfASendFollowEachOther) {
  const auto first = [this] {
    Begin();
    end_->PostReceive(1, 0, 100);
    DdpUntagged header = Message(RdmapOpcode::kSend);
    header.control.last = false;
    Send(header, Bytes(10));
    header.offset = wire::MessageOffset(10);
    return header;
  };
  DdpUntagged next = first();
  next.offset = wire::MessageOffset(11);
  Send(next, Bytes(10));
  ExpectTerminated(TerminateCode::kDdpUntaggedOffset);
  next = first();
  next.control.opcode = RdmapOpcode::kSendSolicited;
  Send(next, Bytes(10));
  ExpectTerminated(TerminateCode::kRdmapUnexpectedOpcode);
  next = first();
  next.msn = wire::DdpMsn(2);
  Send(next, Bytes(10));
  ExpectTerminated(TerminateCode::kDdpUntaggedMsnRange);
  Begin();
  end_->PostReceive(1, 0, 100);
  next = Message(RdmapOpcode::kSend);
  next.offset = wire::MessageOffset(4);
  Send(next, Bytes(10));
  ExpectTerminated(TerminateCode::kDdpUntaggedOffset);
}

TEST_F(IwarpErrorsTest, ASegmentOfAWriteMayComeBetweenThoseOfASend) {
  end_->PostReceive(1, kPage, 100);
  DdpUntagged send = Message(RdmapOpcode::kSend);
  send.control.last = false;
  Send(send, Bytes(10, std::byte{1}));
  Send(WriteTo(0), Bytes(10, std::byte{2}));
  send.control.last = true;
  send.offset = wire::MessageOffset(10);
  Send(send, Bytes(10, std::byte{3}));
  EXPECT_EQ(end_->node.Read(0, 10), Bytes(10, std::byte{2}));
  EXPECT_EQ(end_->node.Read(kPage + 10, 10), Bytes(10, std::byte{3}));
  EXPECT_EQ(end_->Received().size(), 1);
}

TEST_F(IwarpErrorsTest, AKeyThatThePeerMayNotInvalidateEndsTheStream) {
  end_->PostReceive(1, 0, 100);
  DdpUntagged send = Message(RdmapOpcode::kSendInvalidate);
  send.invalidate = end_->node.keys.remote;
  Send(send, Bytes(10, std::byte{1}));
  ExpectTerminated(TerminateCode::kRdmapCannotInvalidate);
  const auto received = end_->Received();
  ASSERT_EQ(received.size(), 1);
  EXPECT_EQ(received[0].status, CompletionStatus::kWindowBindError);
}

TEST_F(IwarpErrorsTest, AResponseMustBeWhatWasAskedFor) {
  const auto response = [](uint32_t stag, uint64_t offset, bool last) {
    return DdpTagged{
        .control = {.tagged = true, .last = last, .opcode = RdmapOpcode::kReadResponse},
        .stag = Key(stag),
        .offset = KeyAddress(offset)};
  };
  const auto begin_read = [this] {
    Begin();
    end_->Post(scenario::ReadOf(1, {}), {end_->node.Local(0, 20)});
    end_->Run();
  };
  Send(response(1, 0, true), Bytes(20));
  ExpectTerminated(TerminateCode::kDdpTaggedInvalidStag);
  begin_read();
  Send(response(2, 0, true), Bytes(20));
  ExpectTerminated(TerminateCode::kDdpTaggedInvalidStag);
  begin_read();
  Send(response(1, 0, true), Bytes(21));
  ExpectTerminated(TerminateCode::kDdpTaggedBounds);
  begin_read();
  Send(response(1, 1, false), Bytes(19));
  ExpectTerminated(TerminateCode::kDdpTaggedBounds);
  begin_read();
  Send(response(1, 0, true), Bytes(19));
  ExpectTerminated(TerminateCode::kDdpTaggedBounds);
  begin_read();
  Send(response(1, 0, false), Bytes(20));
  ExpectTerminated(TerminateCode::kDdpTaggedBounds);
  begin_read();
  Send(response(1, 0, false), Bytes(19));
  Send(response(1, 19, true), Bytes(1));
  EXPECT_EQ(end_->Sent().size(), 1);
  Send(response(1, 0, true), Bytes(20));  // twice
  ExpectTerminated(TerminateCode::kDdpTaggedInvalidStag);
}

TEST_F(IwarpErrorsTest, AnAtomicResponseMustBeTheNextOne) {
  const auto begin_atomic = [this] {
    Begin();
    end_->Post(scenario::FetchAddOf(1, {}, 1), {end_->node.Local(0, 8)});
    end_->Run();
  };
  const auto response = [](uint32_t id) {
    return wire::Written(wire::RdmapAtomicResponse{.id = wire::AtomicRequestId(id), .original = 9});
  };
  Send(Message(RdmapOpcode::kAtomicResponse), response(1));
  ExpectTerminated(TerminateCode::kRdmapUnexpectedOpcode);
  begin_atomic();
  Send(Message(RdmapOpcode::kAtomicResponse), response(2));
  ExpectTerminated(TerminateCode::kRdmapUnexpectedOpcode);
  begin_atomic();
  Send(Message(RdmapOpcode::kAtomicResponse, 2), response(1));
  ExpectTerminated(TerminateCode::kDdpUntaggedMsnRange);
  begin_atomic();
  Send(Message(RdmapOpcode::kAtomicResponse), response(1));
  EXPECT_EQ(end_->Sent().size(), 1);
  EXPECT_EQ(end_->node.WordAt(0), 9);
}

TEST_F(IwarpErrorsTest, AtomicsAreAlignedAndOfTwoKinds) {
  auto request = AddTo(4);
  Send(Message(RdmapOpcode::kAtomicRequest), wire::Written(request));
  ExpectTerminated(TerminateCode::kRdmapOperationUnspecified);
  Begin();
  request = AddTo(0);
  request.opcode = static_cast<wire::RdmapAtomicOpcode>(1);
  Send(Message(RdmapOpcode::kAtomicRequest), wire::Written(request));
  ExpectTerminated(TerminateCode::kRdmapOperationUnspecified);
}

TEST_F(IwarpErrorsTest, AtomicsWithMasksAreExecuted) {
  end_->node.SetWord(0, 0x00FF);
  auto request = AddTo(0);
  request.add_or_swap_mask = 0x80;
  Send(Message(RdmapOpcode::kAtomicRequest), wire::Written(request));
  EXPECT_EQ(end_->node.WordAt(0), 0);
  end_->node.SetWord(0, 0xABCD);
  request.opcode = wire::RdmapAtomicOpcode::kCompareSwap;
  request.add_or_swap = 0x1234;
  request.add_or_swap_mask = 0xFF;
  request.compare = 0xAB00;
  request.compare_mask = 0xFF00;
  Send(Message(RdmapOpcode::kAtomicRequest, 2), wire::Written(request));
  EXPECT_EQ(end_->node.WordAt(0), 0xAB34);
}

TEST_F(IwarpErrorsTest, ATerminateFailsTheReadThatItNames) {
  end_->Post(scenario::ReadOf(1, {}), {end_->node.Local(0, 20)});
  end_->Post(scenario::ReadOf(2, {}), {end_->node.Local(0, 20)});
  end_->Post(scenario::ReadOf(3, {}), {end_->node.Local(0, 20)});
  end_->Run();
  end_->TakeBytes();
  const wire::RdmapTerminate terminate{.code = TerminateCode::kRdmapBounds,
                                       .segment_length = 46,
                                       .header = Message(RdmapOpcode::kReadRequest, 2)};
  Bytes body(terminate.size());
  terminate.Serialize(body);
  Send(Message(RdmapOpcode::kTerminate), body);
  end_->Run();
  const auto sent = end_->Sent();
  ASSERT_EQ(sent.size(), 3);
  EXPECT_EQ(sent[0].status, CompletionStatus::kFlushed);
  EXPECT_EQ(sent[1].status, CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(sent[2].status, CompletionStatus::kFlushed);
  EXPECT_EQ(end_->qp->terminate_received(), terminate);
  EXPECT_EQ(end_->qp->terminate_sent(), std::nullopt);
  EXPECT_TRUE(end_->TakeBytes().empty());
  // One that cannot be read ends the stream as well.
  Begin();
  Send(Message(RdmapOpcode::kTerminate), Bytes(3));
  EXPECT_EQ(end_->qp->state(), QpState::kErr);
}

TEST_F(IwarpErrorsTest, WhatArrivesAfterAnErrorIsDropped) {
  end_->qp->BecomeFailed();
  end_->Run();
  for (int i = 0; i < 3; ++i) Send(WriteTo(0), Bytes(10, std::byte{1}));
  EXPECT_EQ(end_->node.Read(0, 10), Bytes(10));
  EXPECT_TRUE(end_->inbox.empty());
}

// Row B3, anticipatory: the peer is told.
TEST_F(IwarpErrorsTest, AFailedRegistrationTerminatesTheStream) {
  queue::RegistrationOperand operand{.key = Key(12345), .page_shift = 12};
  end_->PostReceive(1, 0, 10);
  end_->Post(scenario::RequestOf(2, queue::SendOpcode::kRegister, operand));
  end_->Post(scenario::SendOf(3));
  ExpectTerminated(TerminateCode::kRdmapCatastrophic);
  const auto sent = end_->Sent();
  ASSERT_EQ(sent.size(), 2);
  EXPECT_EQ(sent[0].status, CompletionStatus::kLocalQpOperationError);
  EXPECT_EQ(sent[1].status, CompletionStatus::kFlushed);
  EXPECT_EQ(end_->Received().size(), 1);
}

// Row B3, reactive: the receive side and the reads of the peer go on.
TEST_F(IwarpErrorsTest, InReactiveModeTheSendQueueIsDrained) {
  IwarpSpec spec;
  spec.config.registration = RegistrationMode::kReactive;
  Begin(spec);
  end_->PostReceive(1, 0, 10);
  const queue::RegistrationOperand operand{.key = Key(12345), .page_shift = 12};
  end_->Post(scenario::RequestOf(2, queue::SendOpcode::kRegisterAndSend, operand));
  end_->Post(scenario::SendOf(3));
  end_->Run();
  EXPECT_EQ(end_->qp->state(), QpState::kSqd);
  EXPECT_EQ(end_->events, std::vector{AsyncEventType::kSendQueueDrained});
  EXPECT_EQ(end_->Sent().size(), 2);
  EXPECT_TRUE(end_->TakeBytes().empty());
  end_->Post(scenario::SendOf(4));  // posted before the program knows
  end_->Run();
  const auto flushed = end_->Sent();
  ASSERT_EQ(flushed.size(), 1);
  EXPECT_EQ(flushed[0].status, CompletionStatus::kFlushed);
  Send(Message(RdmapOpcode::kSend), Bytes(10));
  EXPECT_EQ(end_->Received().size(), 1);
  SendRead(ReadOf(0, 10));
  end_->Run();
  EXPECT_FALSE(end_->TakeBytes().empty());
  end_->qp->ResumeSends();
  end_->Post(scenario::SendOf(5));
  end_->Run();
  EXPECT_FALSE(end_->TakeBytes().empty());
  EXPECT_EQ(end_->qp->state(), QpState::kRts);
}

TEST_F(IwarpErrorsTest, BytesThatMayNotBeSentFailTheirElement) {
  end_->Post(scenario::SendOf(1), {end_->node.Local(0, 500), Stranger()});
  ExpectTerminated(TerminateCode::kRdmapCatastrophic);
  const auto sent = end_->Sent();
  ASSERT_EQ(sent.size(), 1);
  EXPECT_EQ(sent[0].status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(sent[0].vendor_error, 'a');
  EXPECT_EQ(end_->node.refusals.local[0], 1);
}

TEST_F(IwarpErrorsTest, AResponseThatMayNotBePlacedFailsItsRead) {
  end_->Post(scenario::ReadOf(1, {}), {Stranger()});
  end_->Run();
  Send(DdpTagged{.control = {.tagged = true, .last = true, .opcode = RdmapOpcode::kReadResponse},
                 .stag = Key(1)},
       Bytes(8));
  ExpectTerminated(TerminateCode::kRdmapCatastrophic);
  EXPECT_EQ(end_->Sent().at(0).status, CompletionStatus::kLocalProtectionError);
  EXPECT_TRUE(end_->events.empty());
}

}  // namespace
}  // namespace verbena::transport
