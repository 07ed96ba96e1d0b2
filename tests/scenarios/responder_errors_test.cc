// All causes for which a responder refuses a request: the response, the statuses of both work
// requests, the states of the queue pairs, and the asynchronous event.

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "memory/protection/iscsi_tasks.h"
#include "tests/scenarios/error_fixture.h"

namespace verbena::scenario {
namespace {

using memory::Refusal;
using transport::NakReason;
using transport::RefusedKey;
using transport::ResponderError;
using wire::NakCode;
using wire::Syndrome;

// ---- Outcomes in the table.

struct Outcome {
  std::optional<Syndrome> answer;  // nullopt: no response
  CompletionStatus at_requester;
  // Of the receive request that the message consumes; nullopt if it consumes none.
  std::optional<CompletionStatus> at_receiver;
  QpState state;  // of both queue pairs
  std::vector<AsyncEventType> events;
};

const Outcome kInvalidRequest = {Syndrome::Nak(NakCode::kInvalidRequest),
                                 CompletionStatus::kRemoteInvalidRequest,
                                 std::nullopt,
                                 QpState::kErr,
                                 {AsyncEventType::kQpRequestError}};
const Outcome kAccessError = {Syndrome::Nak(NakCode::kRemoteAccessError),
                              CompletionStatus::kRemoteAccessError,
                              std::nullopt,
                              QpState::kErr,
                              {AsyncEventType::kQpAccessError}};

// The completion of the receive request reports the error, so there is no event.
Outcome WithReceiveStatus(const Outcome& outcome, CompletionStatus at_receiver) {
  Outcome changed = outcome;
  changed.at_receiver = at_receiver;
  changed.events.clear();
  return changed;
}
Outcome Passes(Syndrome answer) {
  return {answer, CompletionStatus::kSuccess, std::nullopt, QpState::kRts, {}};
}
const Outcome kOperationalError = {Syndrome::Nak(NakCode::kRemoteOperationalError),
                                   CompletionStatus::kRemoteOperationError,
                                   std::nullopt,
                                   QpState::kErr,
                                   {}};

// IBA 9.9.3, class J: the responder's program gets an error, and the requester no response.
const Outcome kSilence = {std::nullopt,
                          CompletionStatus::kRetryExceeded,
                          CompletionStatus::kWindowBindError,
                          QpState::kErr,
                          {}};

struct Row {
  const char* name;
  NakReason reason;
  void (*provoke)(ErrorTest&);
  Outcome outcome;

  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }
};

// ---- Functions that provoke errors.

void MakeOpcodeLast(ErrorTest& t) {
  t.Begin();
  t.Receive();
  t.mangle_ = [](const Passing& passing) {
    const auto* const last =
        wire::FindOpcode(wire::Service::kRc, Operation::kSend, wire::Position::kLast);
    if (passing.is_request()) passing.bytes[0] = std::byte{last->opcode.value()};
    return LinkAction::Pass();
  };
  t.Send();
}

void ReadTwiceWhereOneIsAllowed(ErrorTest& t) {
  t.Begin([](RcSpec& a, RcSpec& b) {
    a.config.max_rd_atomic = 2;
    b.config.max_dest_rd_atomic = 1;
  });
  t.node_b_.Evict(0);  // delays the first response
  t.Read(t.node_b_.Remote(0));
  t.Read(t.node_b_.Remote(0));
}

void FlushWith(ErrorTest& t, const queue::FlushOperand& flush) {
  t.Begin();
  queue::FlushOperand request = flush;
  request.remote = t.node_b_.Remote(0);
  request.length = ErrorTest::kLength;
  t.net_.Post(t.a(), RequestOf(1, queue::SendOpcode::kFlush, request), {});
}

void RefusePages(ErrorTest& t) {
  t.Begin();
  t.node_b_.Evict(0, 4);
  t.net_.SetPager(
      [](const RcEnd&, const transport::PageRequest&) { return PageAction{.available = false}; });
}

void TakeMemory(ErrorTest& t, uint64_t page) {
  t.Begin();
  t.node_b_.arena.Protect(page, PROT_NONE);
}

// The receive CQ of B holds one completion, and B does not poll.
void OverflowReceiveQueue(ErrorTest& t) {
  t.Begin([](RcSpec&, RcSpec& b) { b.completions = 1; });
  t.Receive();
  t.Receive();
  t.Send();
  t.Send();
}

// The consumer of B's queue pair has one segment: one page that it may read.
void WriteToSegment(ErrorTest& t, uint64_t address) {
  memory::MemoryCore& core = t.node_b_.core;
  const auto owner =
      core.consumers.Open({.has_segments = true, .table = memory::ConsumerSpec::PrivateTable{}});
  ASSERT_TRUE(owner.has_value());
  const auto pd = core.domains.Allocate(*owner);
  ASSERT_TRUE(core.consumers
                  .SegmentTableUpdate(*owner, memory::SegmentChange::kAdd,
                                      {memory::EffectiveAddress(0x10000), ErrorTest::kPage,
                                       memory::VirtualAddress(0x10000), Access::kLocalRead})
                  .has_value());
  const auto keys =
      core.regions.Register({.pd = *pd, .start = {}, .length = UINT64_MAX, .rights = Access::kAll},
                            memory::AddressSpaceBacking{});
  ASSERT_TRUE(keys.has_value());
  t.Begin([&](RcSpec&, RcSpec& b) { b.pd = *pd; });
  t.Write(RemoteAddress{address, keys->remote});
}

void WriteToDeadGuest(ErrorTest& t) {
  memory::MemoryCore& core = t.node_b_.core;
  const auto guest = core.guests.Create({.memory_bytes = 16 * ErrorTest::kPage});
  ASSERT_TRUE(guest.has_value());
  const auto keys = core.regions.Register(
      {.pd = t.node_b_.pd,
       .start = KeyAddress(RcNode::kBase),
       .length = ErrorTest::kPage,
       .rights = Access::kAll},
      memory::LinearBacking{.base = memory::PhysicalAddress(0), .guest = *guest});
  ASSERT_TRUE(keys.has_value());
  ASSERT_TRUE(core.guests.Destroy(*guest).has_value());
  t.Begin();
  t.Write(keys->remote);
}

void WriteWithTaskTag(ErrorTest& t) {
  t.Begin();
  const std::vector pages = {t.node_b_.Physical(0)};
  const auto task = t.node_b_.core.tasks.Begin({.pd = t.node_b_.pd, .length = ErrorTest::kPage},
                                               memory::PageListBacking{.pages = pages});
  ASSERT_TRUE(task.has_value());
  t.Write(*task);
}

void WriteThroughWindowOfAnother(ErrorTest& t) {
  t.Begin();
  const Key window = t.BindWindow(WindowType::k2A, 0, ErrorTest::kPage, Access::kRemoteWrite);
  t.Begin();  // a second connection, whose queue pair has not bound the window
  t.Write(window);
}

void WriteThroughWindowOnSwappedRegion(ErrorTest& t) {
  t.Begin();
  const Key window = t.BindWindow(WindowType::k1, 0, ErrorTest::kPage, Access::kRemoteWrite);
  ASSERT_TRUE(t.node_b_.core.regions.SwapOut(t.node_b_.keys.local).has_value());
  t.Write(window);
}

// Registers a region by work request, which the peer may invalidate.
Key RegisterByRequest(ErrorTest& t, Access rights) {
  memory::Regions& regions = t.node_b_.core.regions;
  const auto reserved = regions.Reserve(t.node_b_.pd, 1, PageShift(12));
  EXPECT_TRUE(reserved.has_value());
  const std::vector pages = {t.node_b_.Physical(0)};
  const auto made = regions.RegisterReserved(
      reserved->local,
      {.pd = t.node_b_.pd, .start = {}, .length = ErrorTest::kPage, .rights = rights},
      {.pages = pages}, t.b().who);
  EXPECT_TRUE(made.has_value());
  return made->remote;
}

void InvalidateRegionWithWindow(ErrorTest& t) {
  t.Begin();
  const Key region = RegisterByRequest(t, Access::kAll);
  const Key window = *t.node_b_.core.windows.Allocate(t.node_b_.pd, WindowType::k1);
  const auto bound = t.node_b_.core.windows.Bind(
      window, {.region = region, .start = {}, .length = 8, .rights = Access::kRemoteRead},
      t.b().who);
  ASSERT_TRUE(bound.has_value());
  t.Invalidate(region);
}

// ---- The table.

constexpr CompletionStatus kProtection = CompletionStatus::kLocalProtectionError;
const wire::RnrTimer kNotReady = RcSpec{}.config.min_rnr_timer;
const wire::RnrTimer kPagesTimer = wire::RnrTimerAtLeast(RcSpec{}.config.page_service_estimate);

const Row kRows[] = {
    // The peer retransmits it, and then it is executed.
    {"SequenceGap", ResponderError::kSequenceGap,
     [](ErrorTest& t) {
       t.Begin();
       t.mangle_ = [&t](const Passing&) {
         return t.requests_ == 1 ? LinkAction::Drop() : LinkAction::Pass();
       };
       t.Write(t.node_b_.Remote(0));
       t.Write(t.node_b_.Remote(0));
     },
     Passes(Syndrome::Nak(NakCode::kPsnSequenceError))},
    {"NoReceiveRequest", ResponderError::kReceiverNotReady,
     [](ErrorTest& t) {
       t.Begin();
       t.Send();
       t.net_.RunFor(Microseconds(50));
       t.Receive();
     },
     Passes(Syndrome::RnrNak(kNotReady))},
    {"NoReceiveRequestForImmediate", ResponderError::kReceiverNotReady,
     [](ErrorTest& t) {
       t.Begin();
       t.Post(RequestOf(1, queue::SendOpcode::kWriteWithImmediate, t.node_b_.Remote(0)));
       t.net_.RunFor(Microseconds(50));
       t.Receive();
     },
     Passes(Syndrome::RnrNak(kNotReady))},
    {"PagesAbsent", ResponderError::kPagesAbsent,
     [](ErrorTest& t) {
       t.Begin();
       t.node_b_.Evict(0);
       t.Write(t.node_b_.Remote(0));
     },
     Passes(Syndrome::RnrNak(kPagesTimer))},

    // The request is malformed.
    {"OpcodeOutOfSequence", ResponderError::kOpcodeOutOfSequence, &MakeOpcodeLast, kInvalidRequest},
    {"NotAllowedOnQp", ResponderError::kNotAllowedOnQp,
     [](ErrorTest& t) {
       t.Begin([](RcSpec&, RcSpec& b) { b.config.remote_rights = Access::kRemoteRead; });
       t.Write(t.node_b_.Remote(0));
     },
     kInvalidRequest},
    {"TooManyOutstanding", ResponderError::kTooManyOutstanding, &ReadTwiceWhereOneIsAllowed,
     kInvalidRequest},
    {"LongerThanThePath", ResponderError::kBadLength,
     [](ErrorTest& t) {
       t.Begin([](RcSpec&, RcSpec& b) { b.config.path_mtu = 512; });
       t.Write(t.node_b_.Remote(0), 1024);
     },
     kInvalidRequest},
    {"ReservedFlush", ResponderError::kReservedFlush, [](ErrorTest& t) { FlushWith(t, {}); },
     kInvalidRequest},
    {"MisalignedAtomicWrite", ResponderError::kMisaligned,
     [](ErrorTest& t) {
       t.Begin();
       t.Post(RequestOf(1, queue::SendOpcode::kAtomicWrite, t.node_b_.Remote(4)), 8);
     },
     kInvalidRequest},
    {"MessageTooLong", ResponderError::kMessageTooLong,
     [](ErrorTest& t) {
       t.Begin();
       t.Receive(ErrorTest::kLength - 1);
       t.Send();
     },
     WithReceiveStatus(kInvalidRequest, CompletionStatus::kLocalLengthError)},
    {"MisalignedAtomic", Refusal::kMisaligned,
     [](ErrorTest& t) {
       t.Begin();
       t.Post(FetchAddOf(1, t.node_b_.Remote(4), 1), 8);
     },
     kInvalidRequest},

    // The request is well-formed, but the peer has no right to it.
    {"NoPersistence", ResponderError::kNoPersistence,
     [](ErrorTest& t) { FlushWith(t, {.persistence = true}); }, kAccessError},
    {"PagesOfAWriteUnavailable", ResponderError::kPagesUnavailable,
     [](ErrorTest& t) {
       RefusePages(t);
       t.Write(t.node_b_.Remote(0));
     },
     kAccessError},
    {"PagesOfAReadUnavailable", ResponderError::kPagesUnavailable,
     [](ErrorTest& t) {
       RefusePages(t);
       t.Read(t.node_b_.Remote(0));
     },
     kAccessError},
    {"PagesOfAReceiveUnavailable", ResponderError::kReceiveBufferRefused,
     [](ErrorTest& t) {
       RefusePages(t);
       t.Receive();
       t.Send();
     },
     WithReceiveStatus(kOperationalError, kProtection)},
    {"NoSuchKey", Refusal::kNoSuchKey,
     [](ErrorTest& t) {
       t.Begin();
       t.Write(ErrorTest::NoKey(t.node_b_));
     },
     kAccessError},
    {"NoSuchKeyToReadBy", Refusal::kNoSuchKey,
     [](ErrorTest& t) {
       t.Begin();
       t.Read(RcNode::Remote(0, ErrorTest::NoKey(t.node_b_)));
     },
     kAccessError},
    {"UnboundWindow", Refusal::kNotValid,
     [](ErrorTest& t) {
       t.Begin();
       t.Write(*t.node_b_.core.windows.Allocate(t.node_b_.pd, WindowType::k1));
     },
     kAccessError},
    {"SwappedOut", Refusal::kSwappedOut,
     [](ErrorTest& t) {
       t.Begin();
       ASSERT_TRUE(t.node_b_.core.regions.SwapOut(t.node_b_.keys.local).has_value());
       t.Write(t.node_b_.Remote(0));
     },
     kAccessError},
    {"WindowOnSwappedOut", Refusal::kRegionNotValid, &WriteThroughWindowOnSwappedRegion,
     kAccessError},
    {"GuestGone", Refusal::kGuestGone, &WriteToDeadGuest, kAccessError},
    {"TaskTag", Refusal::kWrongType, &WriteWithTaskTag, kAccessError},
    {"ForeignDomain", Refusal::kWrongDomain,
     [](ErrorTest& t) {
       t.Begin();
       memory::MemoryCore& core = t.node_b_.core;
       const auto other = core.domains.Allocate(*core.consumers.Open({}));
       t.Write(t.RegionOf(*other, Access::kAll).remote);
     },
     kAccessError},
    {"WindowOfAnotherQp", Refusal::kWrongQp, &WriteThroughWindowOfAnother, kAccessError},
    {"StaleVariant", Refusal::kStaleVariant,
     [](ErrorTest& t) {
       t.Begin();
       t.Write(ErrorTest::OtherVariant(t.node_b_.keys.remote));
     },
     kAccessError},
    {"OneByteTooFar", Refusal::kOutOfRange,
     [](ErrorTest& t) {
       t.Begin();
       t.Write(t.node_b_.Remote(t.node_b_.arena.size() - ErrorTest::kLength + 1));
     },
     kAccessError},
    {"OneByteTooFarInALaterPacket", Refusal::kOutOfRange,
     [](ErrorTest& t) {
       t.Begin();
       t.Write(t.node_b_.Remote(t.node_b_.arena.size() - 3000 + 1), 3000);
     },
     kAccessError},
    {"NoSegment", Refusal::kNoSegment, [](ErrorTest& t) { WriteToSegment(t, 0x20000); },
     kAccessError},
    {"OwnerMayOnlyRead", Refusal::kOwnerHasNoRight,
     [](ErrorTest& t) { WriteToSegment(t, 0x10000); }, kAccessError},
    {"NoRight", Refusal::kNoRight,
     [](ErrorTest& t) {
       t.Begin();
       const Access rights = Access::kLocalRead | Access::kLocalWrite | Access::kRemoteRead;
       t.Write(t.RegionOf(t.node_b_.pd, rights).remote);
     },
     kAccessError},

    // A send with invalidate names a key that it must not invalidate.
    {"InvalidatesNoKey",
     {Refusal::kNoSuchKey, RefusedKey::kInvalidated},
     [](ErrorTest& t) {
       t.Begin();
       t.Invalidate(ErrorTest::NoKey(t.node_b_));
     },
     kSilence},
    {"InvalidatesOrdinaryRegion",
     {Refusal::kNotInvalidable, RefusedKey::kInvalidated},
     [](ErrorTest& t) {
       t.Begin();
       t.Invalidate(t.node_b_.keys.remote);
     },
     kSilence},
    {"InvalidatesWhatItMayNotAccess",
     {Refusal::kNoRight, RefusedKey::kInvalidated},
     [](ErrorTest& t) {
       t.Begin();
       t.Invalidate(RegisterByRequest(t, Access::kLocalRead));
     },
     kSilence},
    {"InvalidatesRegionWithWindow",
     {Refusal::kStillInUse, RefusedKey::kInvalidated},
     &InvalidateRegionWithWindow,
     kSilence},

    // The error is on the responder's side.
    {"ReceiveBufferRefused",
     {Refusal::kNoSuchKey, RefusedKey::kOwn},
     [](ErrorTest& t) {
       t.Begin();
       t.net_.PostReceive(t.b(), 11, {{RcNode::kBase, 4096, Key(0)}});
       t.Send();
     },
     WithReceiveStatus(kOperationalError, kProtection)},
    {"MemoryOfAReceiveGone", ResponderError::kReceiveBufferRefused,
     [](ErrorTest& t) {
       TakeMemory(t, 2);
       t.Receive();
       t.Send();
     },
     WithReceiveStatus(kOperationalError, kProtection)},
    {"MemoryOfAWriteGone", ResponderError::kPagesUnavailable,
     [](ErrorTest& t) {
       TakeMemory(t, 0);
       t.Write(t.node_b_.Remote(0));
     },
     kAccessError},
    {"MemoryOfAnAtomicGone", ResponderError::kPagesUnavailable,
     [](ErrorTest& t) {
       TakeMemory(t, 0);
       t.Post(FetchAddOf(1, t.node_b_.Remote(0), 1), 8);
     },
     kAccessError},
    {"CompletionQueueFull",
     ResponderError::kCompletionQueueError,
     &OverflowReceiveQueue,
     {Syndrome::Nak(NakCode::kRemoteOperationalError),
      CompletionStatus::kRemoteOperationError,
      CompletionStatus::kSuccess,
      QpState::kErr,
      {AsyncEventType::kCqError, AsyncEventType::kQpFatal}}},
};

class ResponderErrorTest : public ErrorTest, public testing::WithParamInterface<Row> {
 protected:
  // Expects that the completion on the side of the error names the refusing check, and that the
  // side that owns the memory counts it.
  void ExpectCheckIsNamed(const Completion& sent, const std::vector<Completion>& received) {
    const NakReason reason = GetParam().reason;
    const transport::VendorError check = transport::VendorErrorOf(reason);
    const bool is_peers = reason.is_refusal() && reason.key() == RefusedKey::kPeers;
    EXPECT_EQ(sent.vendor_error, is_peers ? check : 0) << static_cast<char>(check);
    if (GetParam().outcome.at_receiver) {
      EXPECT_EQ(received.at(0).vendor_error, check);
    }
    RefusalCounters expected;
    transport::CountRefusal(reason, &expected);
    EXPECT_EQ(node_b_.refusals.local, expected.local);
    EXPECT_EQ(node_b_.refusals.remote, expected.remote);
    EXPECT_EQ(node_a_.refusals.remote, RefusalCounters().remote);
  }
};

TEST_P(ResponderErrorTest, HasTheOutcomeOfTheTable) {
  const Row& row = GetParam();
  row.provoke(*this);
  ASSERT_TRUE(net_.RunUntilIdle());

  ASSERT_EQ(refusals_.empty(), !row.outcome.answer);
  if (row.outcome.answer) {
    EXPECT_EQ(refusals_.back(), *row.outcome.answer) << ToString(refusals_.back());
  }
  for (size_t i = 0; i + 1 < refusals_.size(); ++i) {
    ASSERT_EQ(refusals_[i].kind(), Syndrome::Kind::kRnrNak) << "the pages are requested first";
    EXPECT_GE(wire::DurationOf(refusals_[i].rnr_timer()), wire::DurationOf(kPagesTimer));
  }
  const auto sent = a().Sent();
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(sent.back().status, row.outcome.at_requester) << NameOf(sent.back().status);
  for (size_t i = 0; i + 1 < sent.size(); ++i) {
    EXPECT_EQ(sent[i].status, CompletionStatus::kSuccess) << "requests before it";
  }
  EXPECT_EQ(a().qp->state(), row.outcome.state);
  EXPECT_EQ(b().qp->state(), row.outcome.state);
  EXPECT_EQ(net_.EventsOf(b()), row.outcome.events);
  EXPECT_EQ(net_.EventsOf(a()), std::vector<AsyncEventType>{}) << "its completion reports it";
  EXPECT_EQ(net_.timeouts() > 0, !row.outcome.answer);

  const auto& failure = b().qp->responder_failure();
  EXPECT_EQ(failure.has_value(), row.outcome.state == QpState::kErr);
  if (failure) {
    EXPECT_EQ(failure->reason, row.reason) << NameOf(failure->reason);
  }
  const auto received = b().Received();
  if (row.outcome.at_receiver) {
    ASSERT_FALSE(received.empty());
    EXPECT_EQ(received[0].status, *row.outcome.at_receiver) << NameOf(received[0].status);
  }
  ExpectCheckIsNamed(sent.back(), received);
  if (row.outcome.state == QpState::kErr) {
    ExpectFlushes(a());
    if (!b().receive_cq.overflowed()) ExpectFlushes(b());
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, ResponderErrorTest, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

// ---- Completeness of the table.

struct Exempt {
  NakReason reason;
  const char* why;
};
const Exempt kExempt[] = {
    {ResponderError::kOwnWorkFailed, "caused by local work requests; see registration_test.cc"},
    {ResponderError::kNoSuchReceiver, "XRC only: the packet names the SRQ"},
    {Refusal::kNotBindable, "of a bind only; see key_work_errors_test.cc"},
    {Refusal::kNotInvalidable, "of an invalidate only; see InvalidatesOrdinaryRegion"},
    {Refusal::kStillInUse, "of an invalidate only; see InvalidatesRegionWithWindow"},
    {Refusal::kWrongCommand, "of iSCSI messages only"},
    {Refusal::kSameVariant, "of a bind or a registration only; see key_work_errors_test.cc"},
    {Refusal::kTooManyPages, "of a registration only; see key_work_errors_test.cc"},
    {Refusal::kBadPageList, "of a registration only; see key_work_errors_test.cc"},
    {Refusal::kRightsTooWide, "of a bind or a registration only; see key_work_errors_test.cc"},
    {Refusal::kWraps, "of a registration only; see key_work_errors_test.cc"},
};

TEST(ResponderErrorTableTest, HasARowForEveryCause) {
  const auto has_row = [](NakReason reason) {
    const auto is_it = [&](const auto& row) { return row.reason == reason; };
    const bool is_there = std::ranges::any_of(kRows, is_it);
    const bool is_exempt = std::ranges::any_of(kExempt, is_it);
    EXPECT_FALSE(is_there && is_exempt) << NameOf(reason);
    return is_there || is_exempt;
  };
  for (size_t i = 0; i < transport::kResponderErrorCount; ++i) {
    const auto reason = static_cast<ResponderError>(i);
    EXPECT_TRUE(has_row(reason)) << NameOf(reason);
  }
  for (size_t i = 0; i <= static_cast<size_t>(Refusal::kWraps); ++i) {
    const auto refusal = static_cast<Refusal>(i);
    EXPECT_TRUE(has_row(refusal)) << NameOf(refusal);
  }
}

}  // namespace
}  // namespace verbena::scenario
