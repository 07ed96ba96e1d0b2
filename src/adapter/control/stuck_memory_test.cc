// Pages that do not arrive while a thread of the adapter needs them. Other queue pairs continue.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/support/adapter_world.h"
#include "tests/support/stuck_pages.h"

namespace verbena::adapter {
namespace {
using queue::SendOpcode;

constexpr auto kAll = StuckPages::Faults::kAll;
constexpr uint64_t kPages = 64;
// Much less than the 10 s that a stuck page takes in these tests, and than any timeout of a peer.
constexpr Duration kSoon = Milliseconds(500);

// Two connections from A to B. B only responds: its progress thread does the copies.
class StuckMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!StuckPages::IsAllowed(kAll)) GTEST_SKIP() << "no userfaultfd for faults of the system";
    pages_.emplace(kPages, kAll);
    std::ranges::fill(pages_->bytes(), std::byte{0});
    Connect(a_, qa_, b_, qb_, {.timeout = 17});
    Connect(a_, qc_, b_, qd_, {.timeout = 17});
    const auto keys = b_.adapter().RegisterRegion(
        {.pd = b_.pd(),
         .start = KeyAddress(pages_->address()),
         .length = pages_->bytes().size(),
         .rights = Access::kAll},
        memory::LinearBacking{.base = memory::PhysicalAddress(pages_->address())});
    ASSERT_TRUE(keys.has_value());
    key_ = keys->remote;
    const auto own = a_.adapter().RegisterRegion(
        {.pd = a_.pd(),
         .start = KeyAddress(pages_->address()),
         .length = pages_->bytes().size(),
         .rights = Access::kAll},
        memory::LinearBacking{.base = memory::PhysicalAddress(pages_->address())});
    ASSERT_TRUE(own.has_value());
    own_key_ = own->local;
  }
  void TearDown() override {
    if (pages_) pages_->Release();
  }

  void Write(QueuePair& qp, uint64_t id, const RemoteAddress& to) {
    Post(a_, qp, MakeSend(SendOpcode::kWrite, id, to), a_.Bytes(0, 64));
  }
  // The same from memory of A that may be stuck.
  void WriteFrom(QueuePair& qp, uint64_t id, uint64_t address, Key key) {
    Post(a_, qp, MakeSend(SendOpcode::kWrite, id, b_.Remote(0)), {address, 64, key});
  }
  RemoteAddress StuckPage(uint64_t page) const { return {pages_->address(page), key_}; }
  // The time that a write of the other connection takes.
  Duration TimeOther() {
    const Time start = Now();
    Write(qc_, kOther, b_.Remote(0));
    const auto completion = a_.Wait();
    EXPECT_TRUE(completion && completion->id.value() == kOther);
    return Now() - start;
  }
  void ExpectOthersGoOn() {
    for (int i = 0; i < 50; ++i) EXPECT_LT(TimeOther(), kSoon);
    for (QueuePair* const qp : {&qa_, &qc_}) {
      EXPECT_EQ(a_.adapter().Query(*qp)->counters.timeouts, 0U);
    }
  }
  // A region of two of the pages, of which the second is page 1.
  ErrorOr<memory::RegionKeys> RegisterPageList(TestNode& node) {
    std::vector<memory::PhysicalAddress> list;
    for (const uint64_t page : {3U, 1U}) list.emplace_back(pages_->address(page));
    return node.adapter().RegisterRegion(
        {.pd = node.pd(),
         .start = KeyAddress(0),
         .length = 2 * StuckPages::kPage,
         .rights = Access::kAll},
        memory::PageListBacking{list, 0, PageShift(PageShift::kMin)});
  }
  void ExpectWritten(uint64_t id) {
    const auto completion = a_.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->id.value(), id);
    EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
  }

  static constexpr uint64_t kOther = 1'000;
  std::optional<StuckPages> pages_;
  TestNode a_{"127.0.0.1"}, b_{"127.0.0.1"};
  QueuePair& qa_ = a_.MakeQp(QpType::kRc);
  QueuePair& qb_ = b_.MakeQp(QpType::kRc);
  QueuePair& qc_ = a_.MakeQp(QpType::kRc);
  QueuePair& qd_ = b_.MakeQp(QpType::kRc);
  Key key_, own_key_;
};

// The tables say that the page is present, so the copy itself sleeps, with the engine's lock held.
TEST_F(StuckMemoryTest, AStuckPageDoesNotStopOtherConnections) {
  Write(qa_, 1, StuckPage(0));
  ExpectWritten(1);
  TimeOther();
  pages_->Stick(0, 1);
  Write(qa_, 2, StuckPage(0));
  usleep(5'000);
  for (int i = 0; i < 50; ++i) EXPECT_LT(TimeOther(), kSoon);
  pages_->Release();
  ExpectWritten(2);
}

// The handler of a userfaultfd may need the adapter before it can resolve the fault.
TEST_F(StuckMemoryTest, MemoryCanBeRegisteredWhileAPageIsStuck) {
  Write(qa_, 1, StuckPage(0));
  ExpectWritten(1);
  pages_->Stick(0, 1);
  Write(qa_, 2, StuckPage(0));
  usleep(5'000);
  const Time start = Now();
  EXPECT_TRUE(b_.Register(Access::kAll).has_value());
  EXPECT_LT(Now() - start, kSoon);
  pages_->Release();
  ExpectWritten(2);
}

// The pages of a list count as present from its registration on.
TEST_F(StuckMemoryTest, AStuckPageOfAPageListDoesNotStopOtherConnections) {
  const auto keys = RegisterPageList(b_);
  ASSERT_TRUE(keys.has_value());
  pages_->Stick(1, 1);
  TimeOther();
  Write(qa_, 1, {StuckPages::kPage + 8, keys->remote});
  usleep(5'000);
  for (int i = 0; i < 50; ++i) EXPECT_LT(TimeOther(), kSoon);
  pages_->Release();
  ExpectWritten(1);
}

// Absent pages are paged in by pager threads, whose number grows if necessary.
TEST_F(StuckMemoryTest, ManyStuckPagesDoNotStopOtherFaults) {
  pages_->Stick(0, 4);
  for (uint64_t i = 0; i < 4; ++i) {
    QueuePair& qp = a_.MakeQp(QpType::kRc);
    Connect(a_, qp, b_, b_.MakeQp(QpType::kRc), {.timeout = 17});
    Write(qp, i, StuckPage(i));
  }
  for (uint64_t page = 0; page < 8; ++page) {  // each for the first time
    const Time start = Now();
    Write(qc_, kOther, b_.Remote(page * 4'096 + (16 << 12)));
    const auto completion = a_.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->id.value(), kOther);
    EXPECT_LT(Now() - start, kSoon);
  }
  pages_->Release();
  for (int i = 0; i < 4; ++i) {
    const auto completion = a_.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
  }
}

// The same if the stuck page is the requester's own. The thread that posts does the copy, and does
// not wait as long as the page takes.
TEST_F(StuckMemoryTest, AStuckLocalPageDelaysNeitherThePostNorOthers) {
  WriteFrom(qa_, 1, pages_->address(), own_key_);
  ExpectWritten(1);
  pages_->Stick(0, 1);
  usleep(20'000);  // no thread polls: the progress thread sleeps, and sees no packet
  const Time start = Now();
  WriteFrom(qa_, 2, pages_->address(), own_key_);
  EXPECT_LT(Now() - start, kSoon);
  ExpectOthersGoOn();
  pages_->Release();
  ExpectWritten(2);
}

TEST_F(StuckMemoryTest, AStuckLocalPageOfAPageListDelaysNeither) {
  const auto keys = RegisterPageList(a_);
  ASSERT_TRUE(keys.has_value());
  pages_->Stick(1, 1);
  usleep(20'000);
  const Time start = Now();
  WriteFrom(qa_, 1, StuckPages::kPage + 8, keys->local);
  EXPECT_LT(Now() - start, kSoon);
  ExpectOthersGoOn();
  pages_->Release();
  ExpectWritten(1);
}

TEST_F(StuckMemoryTest, ManyStuckLocalPagesDoNotStopOtherFaults) {
  constexpr uint64_t kStuck = 4;
  pages_->Stick(0, kStuck);
  for (uint64_t i = 0; i < kStuck; ++i) {
    QueuePair& qp = a_.MakeQp(QpType::kRc);
    Connect(a_, qp, b_, b_.MakeQp(QpType::kRc), {.timeout = 17});
    WriteFrom(qp, i, pages_->address(i), own_key_);
  }
  for (uint64_t page = 32; page < 40; ++page) {  // each is new to the tables
    const Time start = Now();
    WriteFrom(qc_, kOther, pages_->address(page), own_key_);
    ExpectWritten(kOther);
    EXPECT_LT(Now() - start, kSoon);
  }
  ExpectOthersGoOn();
  pages_->Release();
  for (uint64_t i = 0; i < kStuck; ++i) {
    const auto completion = a_.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
  }
}

}  // namespace
}  // namespace verbena::adapter
