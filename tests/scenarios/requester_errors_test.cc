// All causes of a failed send request on the requester's side: its status, the packets that were
// sent, and the states of the queue pairs. responder_errors_test.cc has NAKs of the peer,
// key_work_errors_test.cc refusals of the tables.

#include <sys/mman.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/scenarios/error_fixture.h"

namespace verbena::scenario {
namespace {

using queue::SendOpcode;

constexpr Key kNoLocalKey{0};

struct Row {
  const char* name;
  void (*provoke)(ErrorTest&);
  CompletionStatus status;
  uint32_t packets;  // how often A sends the first packet

  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }
};

void RefusePages(ErrorTest& t) {
  t.Begin();
  t.node_a_.Evict(0);
  t.net_.SetPager(
      [](const RcEnd&, const transport::PageRequest&) { return PageAction{.available = false}; });
}

// A packet has a limited number of segments. With more SGEs the requester copies the bytes at once,
// which touches the pages.
void GatherFromMissingMemory(ErrorTest& t) {
  t.Begin();
  t.node_a_.arena.Protect(0, PROT_NONE);
  std::vector<Sge> pieces(memory::SpanList::kCapacity + 1, t.node_a_.Local(0, 1));
  for (size_t i = 0; i < pieces.size(); ++i) pieces[i].address += 2 * i;
  t.net_.Post(t.a(), {.wqe = WriteOf(1, t.node_b_.Remote(0)), .sges = pieces});
}

// Posts a read and lets `change` modify its responses.
void ReadWithAnswer(ErrorTest& t, uint32_t length, void (*change)(const Passing&)) {
  t.Begin();
  t.mangle_ = [change](const Passing& passing) {
    if (passing.Is(Operation::kReadResponse)) change(passing);
    return LinkAction::Pass();
  };
  t.Post(ReadOf(1, t.node_b_.Remote(0)), length);
}

void Become(const Passing& passing, wire::Position position) {
  const auto* const info = wire::FindOpcode(wire::Service::kRc, Operation::kReadResponse, position);
  passing.bytes[0] = std::byte{info->opcode.value()};
}

constexpr CompletionStatus kLength = CompletionStatus::kLocalLengthError;
constexpr CompletionStatus kProtection = CompletionStatus::kLocalProtectionError;
constexpr CompletionStatus kBadResponse = CompletionStatus::kBadResponse;

const Row kRows[] = {
    {"AtomicOfMoreThanAWord",
     [](ErrorTest& t) {
       t.Begin();
       t.Post(FetchAddOf(1, t.node_b_.Remote(0), 1), 16);
     },
     kLength, 0},
    {"AtomicWriteOfLessThanAWord",
     [](ErrorTest& t) {
       t.Begin();
       t.Post(RequestOf(1, SendOpcode::kAtomicWrite, t.node_b_.Remote(0)), 4);
     },
     kLength, 0},
    {"MoreThanTwoGigabytes",
     [](ErrorTest& t) {
       t.Begin();
       t.net_.Post(t.a(), WriteOf(1, t.node_b_.Remote(0)),
                   {t.node_a_.Local(0, 0x8000'0000), t.node_a_.Local(0, 1)});
     },
     kLength, 0},
    {"SendFromForeignMemory",
     [](ErrorTest& t) {
       t.Begin();
       t.net_.Post(t.a(), SendOf(1), {{RcNode::kBase, 8, kNoLocalKey}});
     },
     kProtection, 0},
    {"SendFromBeyondTheRegion",
     [](ErrorTest& t) {
       t.Begin();
       t.net_.Post(t.a(), SendOf(1), {t.node_a_.Local(t.node_a_.arena.size() - 7, 8)});
     },
     kProtection, 0},
    {"ReadIntoForeignMemory",
     [](ErrorTest& t) {
       t.Begin();
       t.net_.Post(t.a(), ReadOf(1, t.node_b_.Remote(0)), {{RcNode::kBase, 8, kNoLocalKey}});
     },
     kProtection, 1},
    {"AtomicIntoForeignMemory",
     [](ErrorTest& t) {
       t.Begin();
       t.net_.Post(t.a(), FetchAddOf(1, t.node_b_.Remote(0), 1), {{RcNode::kBase, 8, kNoLocalKey}});
     },
     kProtection, 1},
    {"PagesToSendFromUnavailable",
     [](ErrorTest& t) {
       RefusePages(t);
       t.Write(t.node_b_.Remote(0));
     },
     kProtection, 0},
    {"PagesToReadIntoUnavailable",
     [](ErrorTest& t) {
       RefusePages(t);
       t.Read(t.node_b_.Remote(0));
     },
     kProtection, 1},
    {"MemoryToSendFromGone", &GatherFromMissingMemory, kProtection, 0},
    {"MemoryToReadIntoGone",
     [](ErrorTest& t) {
       t.Begin();
       t.node_a_.arena.Protect(0, PROT_NONE);
       t.Read(t.node_b_.Remote(0));
     },
     kProtection, transport::kLossesMax + 1},  // its pages are evicted again after each page-in
    {"InvalidatesNoKey",
     [](ErrorTest& t) {
       t.Begin();
       t.net_.Post(t.a(), LocalInvalidateOf(1, kNoLocalKey), {});
     },
     kProtection, 0},
    {"InvalidatesOrdinaryRegion",
     [](ErrorTest& t) {
       t.Begin();
       const Key key(t.node_a_.keys.local.value());
       t.net_.Post(t.a(), LocalInvalidateOf(1, key), {});
     },
     kProtection, 0},
    {"AnswerTooShort",
     [](ErrorTest& t) {
       t.Begin();
       t.mangle_ = [](const Passing& passing) {
         // The pad count excludes the last three bytes.
         if (passing.Is(Operation::kReadResponse)) passing.bytes[1] |= std::byte{3 << 4};
         return LinkAction::Pass();
       };
       t.Read(t.node_b_.Remote(0));
     },
     kBadResponse, 1},
    {"AnswerEndsTooEarly",
     [](ErrorTest& t) {
       ReadWithAnswer(t, 3000, [](const Passing& passing) {
         if (passing.packet.info().position == wire::Position::kMiddle) {
           Become(passing, wire::Position::kLast);
         }
       });
     },
     kBadResponse, 1},
    {"AnswerGoesOnAfterItsEnd",
     [](ErrorTest& t) {
       ReadWithAnswer(t, 100,
                      [](const Passing& passing) { Become(passing, wire::Position::kFirst); });
     },
     kBadResponse, 1},
    {"NakOfAnotherService",
     [](ErrorTest& t) {
       t.Begin();
       t.mangle_ = [](const Passing& passing) {
         const size_t at = passing.packet.info().offset(wire::Extension::kAeth);
         const auto nak = wire::Syndrome::Nak(wire::NakCode::kInvalidRdRequest);
         if (passing.Is(Operation::kAcknowledge)) passing.bytes[at] = std::byte{nak.byte()};
         return LinkAction::Pass();
       };
       t.Write(t.node_b_.Remote(0));
     },
     kBadResponse, 1},
    {"NoResponse",
     [](ErrorTest& t) {
       t.Begin([](RcSpec& a, RcSpec&) { a.config.retry_count = 3; });
       t.mangle_ = [](const Passing&) { return LinkAction::Drop(); };
       t.Write(t.node_b_.Remote(0));
     },
     CompletionStatus::kRetryExceeded, 4},
    {"NoResponseAndNoRetryIsAllowed",
     [](ErrorTest& t) {
       t.Begin([](RcSpec& a, RcSpec&) { a.config.retry_count = 0; });
       t.mangle_ = [](const Passing&) { return LinkAction::Drop(); };
       t.Write(t.node_b_.Remote(0));
     },
     CompletionStatus::kRetryExceeded, 1},
    {"ReceiverIsNeverReady",
     [](ErrorTest& t) {
       t.Begin([](RcSpec& a, RcSpec&) { a.config.rnr_retry = 2; });
       t.Send();
     },
     CompletionStatus::kRnrRetryExceeded, 3},
};

class RequesterErrorTest : public ErrorTest, public testing::WithParamInterface<Row> {};

TEST_P(RequesterErrorTest, HasTheOutcomeOfTheTable) {
  const Row& row = GetParam();
  row.provoke(*this);
  net_.RunFor(Microseconds(1));
  net_.Post(a(), SendOf(2), {});
  ASSERT_TRUE(net_.RunUntilIdle());

  const auto sent = a().Sent();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].status, row.status) << NameOf(sent[0].status);
  EXPECT_EQ(sent[1].status, CompletionStatus::kFlushed) << "the request behind it";
  EXPECT_EQ(first_requests_, row.packets);
  EXPECT_EQ(a().qp->state(), QpState::kErr);
  EXPECT_EQ(b().qp->state(), QpState::kRts) << "the error is local to A";
  EXPECT_EQ(net_.EventsOf(a()), std::vector<AsyncEventType>{}) << "the completion reports it";
  EXPECT_EQ(net_.EventsOf(b()), std::vector<AsyncEventType>{});
  ExpectFlushes(a());
}

INSTANTIATE_TEST_SUITE_P(Rows, RequesterErrorTest, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

// IBA 11.6.3.1: a CQ overflow puts the CQ and the queue pair into error.
TEST_F(ErrorTest, AFullSendCompletionQueueEndsTheConnection) {
  Begin([](RcSpec& a, RcSpec&) { a.completions = 1; });
  Write(node_b_.Remote(0));
  Write(node_b_.Remote(0));
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_TRUE(a().send_cq.overflowed());
  EXPECT_EQ(net_.EventsOf(a()), (std::vector{AsyncEventType::kCqError, AsyncEventType::kQpFatal}));
  EXPECT_EQ(a().qp->state(), QpState::kErr);
  EXPECT_EQ(b().qp->state(), QpState::kRts);
}

}  // namespace
}  // namespace verbena::scenario
