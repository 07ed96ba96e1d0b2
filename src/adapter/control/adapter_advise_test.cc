#include <sys/mman.h>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

constexpr uint64_t kPage = 4'096;

class AdviseTest : public testing::Test {
 protected:
  ErrorOr<void> Advise(uint64_t offset, uint64_t length, Advice advice, bool wait = true) {
    const Range range{offset, length};
    return node_.adapter().Advise(node_.keys().local, {&range, 1}, advice, wait);
  }
  uint64_t Resident() {
    std::vector<unsigned char> pages(node_.memory().size() / kPage);
    EXPECT_EQ(mincore(node_.memory().data(), node_.memory().size(), pages.data()), 0);
    uint64_t count = 0;
    for (const unsigned char page : pages) count += page & 1;
    return count;
  }
  // How often a write from these bytes waits for pages. The pages at the destination are present.
  uint64_t RequestsOfAWrite(uint64_t from, uint64_t length) {
    const auto requests = [&] { return node_.adapter().Query()->port.page_requests; };
    const uint64_t before = requests();
    Post(node_, qa_, MakeSend(queue::SendOpcode::kWrite, 1, node_.Remote(from + kHalf)),
         node_.Bytes(from, length));
    const auto completion = node_.Wait();
    EXPECT_TRUE(completion.has_value() && completion->status == CompletionStatus::kSuccess);
    return requests() - before;
  }

  static constexpr uint64_t kHalf = uint64_t{1} << 19;
  TestNode node_{"127.0.0.1"};
  QueuePair& qa_ = node_.MakeQp(QpType::kRc);
  QueuePair& qb_ = node_.MakeQp(QpType::kRc);
};

TEST_F(AdviseTest, PrefetchedPagesAreNotWaitedFor) {
  Connect(node_, qa_, node_, qb_);
  EXPECT_EQ(Resident(), 0U);
  Succeed(Advise(kPage + 7, 3 * kPage, Advice::kPrefetch));
  Succeed(Advise(kHalf, 8 * kPage, Advice::kPrefetchWrite));
  EXPECT_GE(Resident(), 8U + 4U);
  EXPECT_EQ(RequestsOfAWrite(kPage + 7, 3 * kPage), 0U);
  EXPECT_GT(RequestsOfAWrite(16 * kPage, kPage), 0U);
}

TEST_F(AdviseTest, WithoutWaitThePagesArriveLater) {
  Succeed(Advise(0, 4 * kPage, Advice::kPrefetchWrite, false));
  for (const Time end = Now() + Seconds(20); Resident() < 4 && Now() < end;) {
  }
  EXPECT_EQ(Resident(), 4U);
}

TEST_F(AdviseTest, NoFaultAdviceMapsThePresentPages) {
  Connect(node_, qa_, node_, qb_);
  Succeed(Advise(kHalf, 16 * kPage, Advice::kPrefetchWrite));
  node_.Fill(0, kPage, 1);
  node_.Fill(2 * kPage, kPage, 1);
  const uint64_t before = Resident();
  Succeed(Advise(0, 4 * kPage, Advice::kPrefetchNoFault));
  EXPECT_EQ(Resident(), before);
  EXPECT_EQ(RequestsOfAWrite(0, kPage), 0U);
  EXPECT_EQ(RequestsOfAWrite(2 * kPage, kPage), 0U);
  EXPECT_GT(RequestsOfAWrite(3 * kPage, kPage), 0U);
}

TEST_F(AdviseTest, RefusesRangesOutsideTheRegion) {
  const uint64_t size = node_.memory().size();
  for (const auto& [offset, length] : {std::pair{size, uint64_t{1}},
                                       {size - 1, uint64_t{2}},
                                       {uint64_t{1}, UINT64_MAX},
                                       {UINT64_MAX, uint64_t{1}}}) {
    EXPECT_EQ(Advise(offset, length, Advice::kPrefetch).error().code, ErrorCode::kInvalid);
  }
  Succeed(Advise(size, 0, Advice::kPrefetch));
  const Range range{0, 1};
  EXPECT_FALSE(node_.adapter().Advise(Key(1), {&range, 1}, Advice::kPrefetch, true).has_value());
}

TEST_F(AdviseTest, RefusesToWriteWhereTheProgramMayNot) {
  const auto keys = *node_.Register(Access::kLocalRead);
  const Range range{0, kPage};
  const auto advise = [&](Advice advice) {
    return node_.adapter().Advise(keys.local, {&range, 1}, advice, true);
  };
  EXPECT_FALSE(advise(Advice::kPrefetchWrite).has_value());
  EXPECT_EQ(Resident(), 0U);
  Succeed(advise(Advice::kPrefetch));
}

TEST_F(AdviseTest, FailsIfAPageCannotBePagedIn) {
  node_.Unmap(2 * kPage, kPage);
  EXPECT_FALSE(Advise(0, 4 * kPage, Advice::kPrefetch).has_value());
  Succeed(Advise(0, 4 * kPage, Advice::kPrefetch, false));
  Succeed(Advise(0, 4 * kPage, Advice::kPrefetchNoFault));
}

}  // namespace
}  // namespace verbena::adapter
