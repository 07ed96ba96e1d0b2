#include "odp/paging.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "odp/page_job.h"

namespace verbena::odp {
namespace {

using memory::AccessKind;
using Asked = Paging::Asked;

constexpr uint64_t kStart = 0x10'0000;
constexpr uint64_t kPages = 16;

class Tables final : public LockedTables {
 public:
  Tables() : LockedTables({}) {}
  void Lock() VERBENA_ACQUIRE() override {}
  void Unlock() VERBENA_RELEASE() override {}
  void AssertHeld() const VERBENA_ASSERT_HELD(this) override {}
};

// Has in memory what the test sets, and pages in nothing by itself.
class SilentService final : public PageService {
 public:
  SilentService() : PageService([] {}, Duration::Max()) {}
  bool Submit(const PageJob& job) override {
    if (!has_memory) return false;
    EXPECT_TRUE(answers().Expect());
    jobs.push_back(job);
    return true;
  }
  void SubmitProbe() override {}
  uint64_t CountResident(uint64_t, uint64_t page_count) const override {
    ++looks;
    return std::min(resident, page_count);
  }
  void Finish(uint64_t paged_in) {
    PageJob job = jobs.back();
    jobs.pop_back();
    job.paged_in = paged_in;
    answers().Finish(job);
  }

  bool has_memory = true;
  uint64_t resident = 0;
  mutable int looks = 0;
  std::vector<PageJob> jobs;
};

class PagingTest : public testing::Test {
 protected:
  PagingTest() {
    tables_.AssertHeld();  // the test has one thread
    auto& core = tables_.memory;
    pd_ = *core.domains.Allocate(
        *core.consumers.Open({.table = memory::ConsumerSpec::PrivateTable{.identity = true}}));
    const memory::RegionSpec spec{.pd = pd_,
                                  .start = KeyAddress(kStart),
                                  .length = kPages * kPageBytes,
                                  .rights = Access::kLocalRead | Access::kLocalWrite};
    key_ =
        core.regions.Register(spec, memory::LinearBacking{memory::PhysicalAddress(kStart)})->local;
  }

  memory::Translation Translate() const {
    tables_.AssertHeld();
    return tables_.memory.translator.Translate(key_, KeyAddress(kStart), kPageBytes,
                                               AccessKind::kLocalWrite, {pd_, QpNumber(1)});
  }
  transport::PageRequest Absent(bool is_urgent) const {
    const memory::Translation translation = Translate();
    return {.qp = QpNumber(1),
            .ticket = transport::FaultTicket(7),
            .fault = *AsFault(translation),
            .is_urgent = is_urgent};
  }
  bool IsPresent() const {
    const memory::Translation translation = Translate();
    return AsFault(translation) == nullptr;
  }
  std::vector<bool> TakeReady() {
    std::vector<bool> reported;
    paging_.TakeReady(Time(Milliseconds(3)), [&](const transport::PageRequest& request, bool is) {
      EXPECT_EQ(request.ticket, transport::FaultTicket(7));
      reported.push_back(is);
    });
    return reported;
  }

  Tables tables_;
  SilentService service_;
  Paging paging_{
      tables_, service_, nullptr, {.batch_max = kPageBytes, .requests_max = 4, .ready_at_once = 4}};
  memory::PdId pd_;
  Key key_;
};

TEST_F(PagingTest, PagesAreInTheTablesBeforeTheyAreReported) {
  EXPECT_EQ(paging_.Request(Absent(false), Time()), Asked::kTaken);
  EXPECT_FALSE(paging_.has_ready());
  service_.Finish(1);
  EXPECT_TRUE(paging_.has_ready());
  EXPECT_FALSE(IsPresent());
  EXPECT_EQ(TakeReady(), std::vector{true});
  EXPECT_TRUE(IsPresent());
  EXPECT_FALSE(paging_.has_ready());
}

TEST_F(PagingTest, UnavailablePagesAreReportedToo) {
  EXPECT_EQ(paging_.Request(Absent(false), Time()), Asked::kTaken);
  service_.Finish(0);
  EXPECT_EQ(TakeReady(), std::vector{false});
  EXPECT_FALSE(IsPresent());
}

TEST_F(PagingTest, RequestsAreAnsweredFromResidentPages) {
  service_.resident = 1;
  EXPECT_EQ(paging_.Request(Absent(false), Time()), Asked::kResident);
  EXPECT_TRUE(IsPresent());
  int answers = 0;
  const auto count = [&](const transport::PageRequest& request) {
    EXPECT_EQ(request.ticket, transport::FaultTicket(7));
    ++answers;
  };
  paging_.AnswerResident(count);
  paging_.AnswerResident(count);
  EXPECT_EQ(answers, 1);
}

TEST_F(PagingTest, APrefetchOfResidentPagesHasNoAnswer) {
  service_.resident = 1;
  transport::PageRequest request = Absent(false);
  request.ticket = transport::kPrefetchTicket;
  EXPECT_EQ(paging_.Request(request, Time()), Asked::kResident);
  EXPECT_TRUE(IsPresent());
  paging_.AnswerResident([](const transport::PageRequest&) { ADD_FAILURE(); });
}

// The buffers of many posted receives are in one page.
TEST_F(PagingTest, SeveralRequestsForAPageTakeOneProbe) {
  service_.resident = 1;
  const transport::PageRequest request = Absent(false);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(paging_.Request(request, Time()), Asked::kResident);
  EXPECT_EQ(service_.looks, 1);
}

TEST_F(PagingTest, SeldomProbesWhereNoPageIsResident) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(paging_.Request(Absent(false), Time()), Asked::kTaken);
    service_.jobs.clear();
  }
  EXPECT_EQ(service_.looks, 4 + 96 / 16);
  service_.resident = 1;
  for (int i = 0; i < 16 && !IsPresent(); ++i) {
    static_cast<void>(paging_.Request(Absent(false), Time()));
    paging_.AnswerResident([](const transport::PageRequest&) {});
  }
  EXPECT_TRUE(IsPresent());
}

// Only the pager makes the system report the pages that the program gives up.
TEST_F(PagingTest, WithPageEventsOnlyUrgentRequestsAreAnsweredFromResidentPages) {
  std::string why_not;
  const auto events = PageEvents::Open(PageEvents::Scope::kAny, why_not);
  if (events == nullptr) GTEST_SKIP() << "no userfaultfd here: " << why_not;
  Paging paging{tables_, service_, events.get(), {.batch_max = kPageBytes, .requests_max = 4}};
  service_.resident = 1;
  EXPECT_EQ(paging.Request(Absent(false), Time()), Asked::kTaken);
  EXPECT_EQ(paging.Request(Absent(true), Time()), Asked::kResident);
}

TEST_F(PagingTest, PagesWhoseAnswerDoesNotFitArePagedIn) {
  service_.resident = 1;
  const transport::PageRequest request = Absent(true);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(paging_.Request(request, Time()), Asked::kResident);
  EXPECT_EQ(paging_.Request(request, Time()), Asked::kTaken);
  paging_.AnswerResident([](const transport::PageRequest&) {});
  EXPECT_EQ(paging_.Request(request, Time()), Asked::kResident);
}

TEST_F(PagingTest, AnUrgentRequestForAbsentPagesIsPagedIn) {
  EXPECT_EQ(paging_.Request(Absent(true), Time()), Asked::kTaken);
  EXPECT_EQ(service_.jobs.size(), 1U);
}

// Entered again from a probe, a resident page that the adapter cannot access would be lost again
// and again.
TEST_F(PagingTest, ALostPageIsPagedInEvenIfResident) {
  service_.resident = 1;
  transport::PageRequest request = Absent(true);
  request.fault.is_loss = true;
  EXPECT_EQ(paging_.Request(request, Time()), Asked::kTaken);
}

TEST_F(PagingTest, PagesThatNothingWaitsForAreEnteredAndNotReported) {
  transport::PageRequest request = Absent(false);
  request.ticket = transport::kPrefetchTicket;
  EXPECT_EQ(paging_.Request(request, Time()), Asked::kTaken);
  EXPECT_TRUE(service_.jobs.back().is_ahead);
  service_.Finish(1);
  EXPECT_TRUE(TakeReady().empty());
  EXPECT_TRUE(IsPresent());
}

TEST_F(PagingTest, WithoutMemoryTheRequestIsTriedAgain) {
  service_.has_memory = false;
  EXPECT_EQ(paging_.Request(Absent(false), Time()), Asked::kNoMemory);
}

TEST_F(PagingTest, PeersAreAskedToWaitAsLongAsPagesTook) {
  const Duration before = paging_.wait();
  EXPECT_EQ(paging_.Request(Absent(false), Time()), Asked::kTaken);
  service_.Finish(1);
  TakeReady();  // 3 ms later
  EXPECT_GT(paging_.wait(), before);
}

}  // namespace
}  // namespace verbena::odp
