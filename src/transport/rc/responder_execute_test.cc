#include <sys/mman.h>

#include <gtest/gtest.h>

#include "tests/support/responder_fixture.h"
#include "transport/rc/responder.h"

namespace verbena::transport {
namespace {

using memory::kPage;
using memory::Refusal;
using wire::Companion;
using wire::NakCode;
using wire::Operation;
using wire::Position;

class ResponderExecuteTest : public ResponderFixture {
 protected:
  void ExpectRefused(NakCode code, NakReason reason, AsyncEventType event) {
    const Answer answer = OneAnswer();
    EXPECT_TRUE(answer.IsNak((psn_ - 1).value(), code));
    ASSERT_TRUE(responder_->failure().has_value());
    EXPECT_STREQ(NameOf(responder_->failure()->reason), NameOf(reason));
    EXPECT_EQ(events_, std::vector{event});
  }
  // The same range through another key, of a window or region.
  static wire::Reth WithKey(wire::Reth reth, Key key) {
    reth.r_key = key;
    return reth;
  }
};

TEST_F(ResponderExecuteTest, ASendFillsTheListOfItsReceiveRequest) {
  PostReceive(7, {SgeOf(2 * kPage + 1, 300), SgeOf(3 * kPage - 5, 1000)});
  const Bytes bytes = Pattern(2 * kMtu + 33);
  const auto part = [&](size_t from, size_t to) {
    return Bytes(bytes.begin() + static_cast<ptrdiff_t>(from),
                 bytes.begin() + static_cast<ptrdiff_t>(to));
  };
  Deliver({.position = Position::kFirst, .payload = part(0, kMtu)});
  Deliver({.position = Position::kMiddle, .payload = part(kMtu, 2 * kMtu)});
  EXPECT_EQ(OneAnswer().aeth->msn, wire::Msn(0));
  EXPECT_TRUE(Completions().empty());
  Deliver({.position = Position::kLast,
           .companion = Companion::kImmediate,
           .payload = part(2 * kMtu, bytes.size()),
           .immediate = 0xabcd});
  const Answer answer = OneAnswer();
  EXPECT_TRUE(answer.IsAck(PsnAt(2)));
  EXPECT_EQ(answer.aeth->msn, wire::Msn(1));

  Bytes found = Read(2 * kPage + 1, 300);
  const Bytes rest = Read(3 * kPage - 5, bytes.size() - 300);
  found.insert(found.end(), rest.begin(), rest.end());
  EXPECT_EQ(found, bytes);
  const auto completions = Completions();
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(completions[0].id, WrId(7));
  EXPECT_EQ(completions[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(completions[0].opcode, CompletionOpcode::kReceive);
  EXPECT_EQ(completions[0].byte_count, bytes.size());
  EXPECT_EQ(completions[0].qp, QpNumber(1));
  EXPECT_TRUE(completions[0].with_immediate);
  EXPECT_EQ(completions[0].immediate, Immediate(0xabcd));
}

TEST_F(ResponderExecuteTest, CreditsCountPostedReceives) {
  for (uint64_t i = 0; i < 3; ++i) PostReceive(i);
  Deliver({.payload = {}});  // without payload
  EXPECT_EQ(wire::CreditsOf(OneAnswer().aeth->syndrome.credits()), 2u);
  EXPECT_EQ(Completions().at(0).byte_count, 0u);
}

TEST_F(ResponderExecuteTest, SolicitedMessagesRaiseTheEvent) {
  PostReceive(1);
  PostReceive(2);
  cq_.Arm(queue::CompletionQueue::Wanted::kSolicited);
  Deliver({.payload = Pattern(1)});
  Answers();
  EXPECT_EQ(completion_events_, 0u);
  Deliver({.payload = Pattern(1), .solicited = true});
  Answers();
  EXPECT_EQ(completion_events_, 1u);
}

TEST_F(ResponderExecuteTest, AMessageThatIsTooLongIsALocalLengthErrorAndARemoteInvalidRequest) {
  PostReceive(3, kMtu + 4);
  Deliver({.position = Position::kFirst, .payload = Pattern(kMtu)});
  Deliver({.position = Position::kLast, .payload = Pattern(5)});
  EXPECT_TRUE(OneAnswer().IsNak(PsnAt(1), NakCode::kInvalidRequest));
  EXPECT_EQ(Completions().at(0).status, CompletionStatus::kLocalLengthError);
  EXPECT_TRUE(events_.empty());  // there is a completion
}

TEST_F(ResponderExecuteTest, AReceiveBufferOfAnotherDomainIsAnErrorOfThisSide) {
  Sge sge = SgeOf(2 * kPage, 100);
  sge.key = Key(0);
  PostReceive(3, {sge});
  Deliver({.payload = Pattern(5)});
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteOperationalError));
  EXPECT_EQ(Completions().at(0).status, CompletionStatus::kLocalProtectionError);
}

TEST_F(ResponderExecuteTest, ASendIntoAbsentPagesKeepsItsReceiveRequest) {
  PostReceive(3);
  TakePagesAway(2, 1);
  const Request send{.payload = Pattern(100)};
  Deliver(send);
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, wire::RnrTimerAtLeast(Milliseconds(1))));
  EXPECT_EQ(requests_.at(0).fault.first_page, 2u);
  PageIn(2, 1);
  PagesReady(requests_[0].ticket);
  Deliver(send, Psn(kStart));
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
  EXPECT_EQ(Read(2 * kPage, 100), Pattern(100));
  EXPECT_EQ(Completions().at(0).id, WrId(3));
}

TEST_F(ResponderExecuteTest, SendWithInvalidateInvalidatesTheKey) {
  const auto window = core_.windows.Bind(*core_.windows.Allocate(pd_, WindowType::k2B),
                                         {.region = region_.local,
                                          .start = KeyAddress(AddressOf(0)),
                                          .length = kPage,
                                          .rights = Access::kRemoteWrite,
                                          .variant = KeyVariant(9)},
                                         me_);
  ASSERT_TRUE(Succeeds(window));
  PostReceive(1);
  PostReceive(2);
  const Request send{.companion = Companion::kInvalidate, .invalidate = window->value()};
  Deliver(send);
  const auto completions = Completions();
  EXPECT_TRUE(completions.at(0).with_invalidate);
  EXPECT_EQ(completions[0].invalidated, Key(window->value()));
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
}

// IBA 9.9.3, class J, as the tests of google/rdma-unit-test quote it: "When a send with invalidate
// failed, the responder should not send out a NAK code, see IB spec 9.9.6.3 responder error
// behavior (class J error)". The status is that of a memory management operation. (Soft-RoCE sends
// no NAK either. It completes the request with "remote invalid request", and acknowledges the
// send.)
TEST_F(ResponderExecuteTest, AFailedInvalidateEndsTheQueuePairWithoutANak) {
  PostReceive(1);
  PostReceive(2);
  Deliver({.payload = Pattern(4)});
  Deliver({.companion = Companion::kInvalidate, .invalidate = region_.remote.value()});
  EXPECT_TRUE(OneAnswer().IsAck(kStart)) << "what came before it";
  EXPECT_FALSE(responder_->has_responses_due());
  const auto completions = Completions();
  ASSERT_EQ(completions.size(), 2u);
  EXPECT_EQ(completions[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(completions[1].status, CompletionStatus::kWindowBindError);
  EXPECT_EQ(responder_->failure()->reason,
            NakReason(memory::Refusal::kNotInvalidable, RefusedKey::kInvalidated));
  EXPECT_TRUE(events_.empty()) << "the completion reports it";
}

// IBA 11.6.2: "Local Access Error: a protection error occurred on a local data buffer during the
// processing of an RDMA Write with Immediate Data operation sent from the remote node". In a
// message of one packet, the receive request is taken before the key is checked; Soft-RoCE does the
// same.
TEST_F(ResponderExecuteTest, AnImmediateWithAWrongKeyConsumesItsReceive) {
  PostReceive(1);
  wire::Reth reth = RethOf(0, 8);
  reth.r_key = Key(0xDEADBEEF);
  Deliver({.operation = Operation::kWrite,
           .companion = Companion::kImmediate,
           .payload = Pattern(8),
           .reth = reth});
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteAccessError));
  EXPECT_EQ(Completions().at(0).status, CompletionStatus::kLocalAccessError);
  EXPECT_TRUE(events_.empty()) << "IBA C9-222.1: no event if there is a completion";
}

// In a message of several packets, the first packet is refused, which uses no receive request: an
// event is raised, and the request is flushed with the others.
TEST_F(ResponderExecuteTest, AnImmediateOfManyPacketsWithAWrongKeyConsumesNone) {
  PostReceive(1);
  wire::Reth reth = RethOf(0, 2 * kMtu);
  reth.r_key = Key(0xDEADBEEF);
  Deliver({.operation = Operation::kWrite,
           .position = Position::kFirst,
           .payload = Pattern(kMtu),
           .reth = reth});
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteAccessError));
  EXPECT_TRUE(Completions().empty());
  EXPECT_EQ(events_, std::vector{AsyncEventType::kQpAccessError});
  Step step = MakeStep();
  responder_->Flush(step);
  EXPECT_EQ(Completions().at(0).status, CompletionStatus::kFlushed);
}

TEST_F(ResponderExecuteTest, AWriteOfNoBytesNeedsNoKey) {
  Deliver({.operation = Operation::kWrite, .reth = {}});
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
}

TEST_F(ResponderExecuteTest, AWriteIsAuthorisedAsAWholeAtItsFirstPacket) {
  SetWord(4 * kPage - kMtu, 1);
  Deliver({.operation = Operation::kWrite,
           .position = Position::kFirst,
           .payload = Pattern(kMtu),
           .reth = RethOf(4 * kPage - kMtu, kMtu + 1)});
  ExpectRefused(NakCode::kRemoteAccessError, Refusal::kOutOfRange, AsyncEventType::kQpAccessError);
  EXPECT_EQ(WordAt(4 * kPage - kMtu), 1u);
}

TEST_F(ResponderExecuteTest, UnmappedMemoryIsRequested) {
  arena_.Protect(0, PROT_NONE);
  Deliver(WriteOnly(0, Pattern(8)));
  EXPECT_EQ(OneAnswer().aeth->syndrome.kind(), wire::Syndrome::Kind::kRnrNak);
  ASSERT_EQ(requests_.size(), 1u);
  PagesReady(requests_[0].ticket, false);
  arena_.Protect(0, PROT_READ | PROT_WRITE);
  ExpectRefused(NakCode::kRemoteAccessError, ResponderError::kPagesUnavailable,
                AsyncEventType::kQpAccessError);
}

TEST_F(ResponderExecuteTest, MemoryThatIsMappedAgainDoesNotFailTheMessage) {
  arena_.Protect(0, PROT_NONE);
  Deliver(WriteOnly(0, Pattern(8)));
  Answers();
  arena_.Protect(0, PROT_READ | PROT_WRITE);
  PageIn(0, 1);
  PagesReady(requests_.at(0).ticket);
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
  EXPECT_EQ(Read(0, 8), Pattern(8));
}

// Each time the pager reports the page present, and each time it is absent.
TEST_F(ResponderExecuteTest, PagesThatAreLostTooOftenAreAnError) {
  arena_.Protect(0, PROT_NONE);
  Deliver(WriteOnly(0, Pattern(8)));
  size_t tries = 0;
  for (; !responder_->failure() && tries < 1000; ++tries) {
    Answers();
    PageIn(0, 1);
    PagesReady(requests_.at(tries).ticket);
  }
  arena_.Protect(0, PROT_READ | PROT_WRITE);
  EXPECT_EQ(tries, kLossesMax);
  EXPECT_EQ(responder_->failure()->reason, NakReason(ResponderError::kPagesUnavailable));
}

TEST_F(ResponderExecuteTest, AnUnmappedReceiveBufferIsALocalError) {
  PostReceive(7);
  arena_.Protect(2, PROT_NONE);
  Deliver({.operation = Operation::kSend, .payload = Pattern(8)});
  Answers();
  PagesReady(requests_.at(0).ticket, false);
  arena_.Protect(2, PROT_READ | PROT_WRITE);
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteOperationalError));
  const auto completions = Completions();
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(completions[0].status, CompletionStatus::kLocalProtectionError);
}

TEST_F(ResponderExecuteTest, AKeyMayBeInvalidatedBetweenTwoPackets) {
  Deliver({.operation = Operation::kWrite,
           .position = Position::kFirst,
           .payload = Pattern(kMtu),
           .reth = RethOf(0, 2 * kMtu)});
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(region_.local)));
  Deliver({.operation = Operation::kWrite, .position = Position::kLast, .payload = Pattern(kMtu)});
  ExpectRefused(NakCode::kRemoteAccessError, Refusal::kNoSuchKey, AsyncEventType::kQpAccessError);
}

TEST_F(ResponderExecuteTest, TheQueuePairMustAllowTheOperation) {
  config_.remote_rights = Access::kRemoteRead;
  Begin();
  Deliver(WriteOnly(0, Pattern(8)));
  ExpectRefused(NakCode::kInvalidRequest, ResponderError::kNotAllowedOnQp,
                AsyncEventType::kQpRequestError);
}

TEST_F(ResponderExecuteTest, LengthsThatDoNotAddUpAreInvalid) {
  Request write = WriteOnly(0, Pattern(8));
  write.reth.dma_length = 9;
  Deliver(write);
  ExpectRefused(NakCode::kInvalidRequest, ResponderError::kBadLength,
                AsyncEventType::kQpRequestError);
}

TEST_F(ResponderExecuteTest, AOneTouchKeyIsInvalidAfterItsFirstMessage) {
  const memory::RegionSpec spec{.pd = pd_,
                                .start = KeyAddress(AddressOf(0)),
                                .length = kPage,
                                .rights = Access::kAll,
                                .one_touch = true};
  const std::vector pages = {memory::PhysicalAddress(AddressOf(0))};
  const auto keys = core_.regions.Register(spec, memory::PageListBacking{pages, 0, memory::kSmall});
  ASSERT_TRUE(Succeeds(keys));
  Request write{.operation = Operation::kWrite,
                .position = Position::kFirst,
                .payload = Pattern(kMtu),
                .reth = WithKey(RethOf(0, 2 * kMtu), keys->remote)};
  Deliver(write);
  Deliver({.operation = Operation::kWrite, .position = Position::kLast, .payload = Pattern(kMtu)});
  EXPECT_TRUE(OneAnswer().IsAck(PsnAt(1)));
  Deliver(write);
  ExpectRefused(NakCode::kRemoteAccessError, Refusal::kNotValid, AsyncEventType::kQpAccessError);
}

TEST_F(ResponderExecuteTest, AtomicsAreExecutedAndAnswered) {
  SetWord(8, 5);
  Deliver({.operation = Operation::kFetchAdd, .atomic = AtomicOf(8, 3)});
  Deliver({.operation = Operation::kCompareSwap, .atomic = AtomicOf(8, 100, 8)});
  EXPECT_EQ(WordAt(8), 100u);
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].operation, Operation::kAtomicAcknowledge);
  EXPECT_EQ(answers[0].original, 5u);
  EXPECT_EQ(answers[1].original, 8u);
  EXPECT_EQ(answers[1].psn, PsnAt(1));
  EXPECT_EQ(answers[1].aeth->msn, wire::Msn(2));
}

TEST_F(ResponderExecuteTest, AMisalignedAtomicIsInvalid) {
  Deliver({.operation = Operation::kFetchAdd, .atomic = AtomicOf(4, 3)});
  ExpectRefused(NakCode::kInvalidRequest, Refusal::kMisaligned, AsyncEventType::kQpRequestError);
}

TEST_F(ResponderExecuteTest, AnAtomicOnAnAbsentPageIsExecutedOnce) {
  SetWord(8, 5);
  TakePagesAway(0, 1);
  const Request add{.operation = Operation::kFetchAdd, .atomic = AtomicOf(8, 1)};
  Deliver(add);
  EXPECT_EQ(OneAnswer().aeth->syndrome.kind(), wire::Syndrome::Kind::kRnrNak);
  PageIn(0, 1);
  PagesReady(requests_.at(0).ticket);
  Deliver(add, Psn(kStart));
  EXPECT_EQ(OneAnswer().original, 5u);
  EXPECT_EQ(WordAt(8), 6u);
}

TEST_F(ResponderExecuteTest, AtomicWriteAndFlushGetAnEmptyReadResponse) {
  Deliver({.operation = Operation::kAtomicWrite, .payload = Pattern(8), .reth = RethOf(16, 8)});
  Deliver({.operation = Operation::kFlush, .reth = RethOf(0, 64)});
  EXPECT_EQ(Read(16, 8), Pattern(8));
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 2u);
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.operation, Operation::kReadResponse);
    EXPECT_EQ(answer.position, Position::kOnly);
    EXPECT_TRUE(answer.payload.empty());
  }
}

TEST_F(ResponderExecuteTest, NoRegionIsPersistent) {
  Deliver({.operation = Operation::kFlush,
           .reth = RethOf(0, 64),
           .feth = {.placement = wire::Feth::kPersistence}});
  ExpectRefused(NakCode::kRemoteAccessError, ResponderError::kNoPersistence,
                AsyncEventType::kQpAccessError);
}

TEST_F(ResponderExecuteTest, TooManyOutstandingReadsAreInvalid) {
  TakePagesAway(0, 1);  // so that no response is possible
  for (int i = 0; i < 3; ++i) {
    Deliver({.operation = Operation::kReadRequest, .reth = RethOf(0, 8)});
  }
  ASSERT_TRUE(responder_->failure().has_value());
  EXPECT_EQ(responder_->failure()->reason, NakReason(ResponderError::kTooManyOutstanding));
  PageIn(0, 1);
  const auto answers = Answers();  // the responses that were due, then the NAK
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_TRUE(answers[2].IsNak(PsnAt(2), NakCode::kInvalidRequest));
}

TEST_F(ResponderExecuteTest, ALostCompletionEndsTheConnection) {
  for (size_t i = 0; i < cq_.capacity(); ++i) {
    cq_.Push({}, false, Time());
  }
  PostReceive(1);
  Deliver({.payload = Pattern(1)});
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteOperationalError));
  EXPECT_EQ(events_, (std::vector{AsyncEventType::kCqError, AsyncEventType::kQpFatal}));
}

TEST_F(ResponderExecuteTest, TheSharedQueueRaisesItsLimitEvent) {
  queue::SharedReceiveQueue shared(4, 1);
  ASSERT_TRUE(shared.Post({.wqe = {.id = WrId(1)}}).has_value());
  shared.SetLimit(1);
  BeginOn(ReceiveSource(shared, pd_));
  Deliver({.payload = {}});
  Answers();
  EXPECT_EQ(events_, std::vector{AsyncEventType::kSrqLimitReached});
  EXPECT_EQ(Completions().size(), 1u);
}

// A shared receive queue serves queue pairs of any domain; its buffers belong to its own domain.
TEST_F(ResponderExecuteTest, AReceiveOfASharedQueueBelongsToTheQueuesDomain) {
  const memory::PdId other = MakeDomain({.table = memory::ConsumerSpec::PrivateTable{}});
  queue::SharedReceiveQueue shared(4, 1);
  const std::vector sges = {SgeOf(2 * kPage, 64)};  // of the queue pair's domain
  ASSERT_TRUE(shared.Post({.wqe = {.id = WrId(1)}, .sges = sges}).has_value());
  BeginOn(ReceiveSource(shared, other));
  Deliver({.payload = Pattern(8)});
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteOperationalError));
  EXPECT_NE(Read(2 * kPage, 8), Pattern(8));
  ASSERT_EQ(Completions().size(), 1u);

  config_.who.pd = other;
  ASSERT_TRUE(shared.Post({.wqe = {.id = WrId(2)}, .sges = sges}).has_value());
  BeginOn(ReceiveSource(shared, pd_));
  Deliver({.payload = Pattern(8)});
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
  EXPECT_EQ(Read(2 * kPage, 8), Pattern(8));
  EXPECT_EQ(Completions().at(0).status, CompletionStatus::kSuccess);
}

}  // namespace
}  // namespace verbena::transport
