// A queue pair that faults for ever does not affect others: another one on the same two machines
// completes its requests at the same times as if it were alone, to the nanosecond.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/pair_fixture.h"

namespace verbena::scenario {
namespace {

enum class PageFailure : uint8_t {
  kNone,
  kSendPagesStayAbsent,
  kReadBufferStaysAbsent,
  kWriteTargetStaysAbsent,
  kReadSourceStaysAbsent,
  kPagesAreEvictedAtOnce,  // present after the page-in, and absent again at the retransmission
};

std::string NameOf(PageFailure failure) {
  switch (failure) {
    case PageFailure::kNone:
      return "None";
    case PageFailure::kSendPagesStayAbsent:
      return "SendPagesStayAbsent";
    case PageFailure::kReadBufferStaysAbsent:
      return "ReadBufferStaysAbsent";
    case PageFailure::kWriteTargetStaysAbsent:
      return "WriteTargetStaysAbsent";
    case PageFailure::kReadSourceStaysAbsent:
      return "ReadSourceStaysAbsent";
    case PageFailure::kPagesAreEvictedAtOnce:
      return "PagesAreEvictedAtOnce";
  }
  return "?";
}

// The completions of the unaffected queue pair: id, and time in ns.
using Record = std::vector<std::pair<uint64_t, int64_t>>;

class Isolation {
 public:
  static constexpr uint64_t kPage = RcNode::kPage;
  static constexpr uint64_t kOperations = 200;

  explicit Isolation(PageFailure failure)
      : failure_(failure), node_a_(net_.AddNode(8)), node_b_(net_.AddNode(8)) {
    RcSpec spec;
    spec.config.ack_timeout = Milliseconds(500);
    const auto good = net_.Connect(node_a_, node_b_, spec, spec);
    const auto bad = net_.Connect(node_a_, node_b_, spec, spec);
    good_a_ = &good.first;
    good_b_ = &good.second;
    bad_a_ = &bad.first;
    bad_b_ = &bad.second;
    net_.SetPager([this](const RcEnd& end, const transport::PageRequest&) {
      const bool is_bad = &end == bad_a_ || &end == bad_b_;
      faults_ += is_bad ? 1 : 0;
      const bool never = is_bad && failure_ != PageFailure::kPagesAreEvictedAtOnce;
      return never ? PageAction::Hold() : PageAction{};
    });
    net_.SetLink([this](const Passing& passing) {
      const bool is_bad = &passing.from == bad_a_;
      if (is_bad && failure_ == PageFailure::kPagesAreEvictedAtOnce) node_b_.Evict(kBadPage);
      bad_packets_ += is_bad ? 1 : 0;
      return LinkAction::Pass();
    });
  }

  // Runs all operations of the unaffected queue pair, next to the faulting one.
  Record Run() {
    BeginFailure();
    Record record;
    for (uint64_t id = 1; id <= kOperations; ++id) {
      PostGood(id);
      // Its own page faults are served.
      if (id % 10 == 0) node_b_.Evict(kGoodPage);
      if (id % 10 == 5) node_a_.Evict(kGoodPage);
      net_.RunUntil([&] { return good_a_->send_cq.size() > 0; }, Seconds(1));
      for (const auto& completion : good_a_->Sent()) {
        EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
        record.emplace_back(completion.id.value(), completion.timestamp_ns);
      }
      static_cast<void>(good_b_->Received());
    }
    return record;
  }

  [[nodiscard]] bool bad_one_has_completed() const {
    return bad_a_->send_cq.size() > 0 || bad_a_->qp->state() != QpState::kRts;
  }
  [[nodiscard]] uint64_t faults() const { return faults_; }
  [[nodiscard]] uint64_t bad_packets() const { return bad_packets_; }
  [[nodiscard]] uint64_t timeouts() const { return net_.timeouts(); }

 private:
  static constexpr uint64_t kGoodPage = 0;
  static constexpr uint64_t kBadPage = 4;

  void BeginFailure() {
    const uint64_t at = kBadPage * kPage;
    switch (failure_) {
      case PageFailure::kNone:
        break;
      case PageFailure::kSendPagesStayAbsent:
        node_a_.Evict(kBadPage);
        net_.Post(*bad_a_, WriteOf(1, node_b_.Remote(at)), {node_a_.Local(at, kPage)});
        break;
      case PageFailure::kReadBufferStaysAbsent:
        node_a_.Evict(kBadPage);
        net_.Post(*bad_a_, ReadOf(1, node_b_.Remote(at)), {node_a_.Local(at, kPage)});
        break;
      case PageFailure::kWriteTargetStaysAbsent:
      case PageFailure::kPagesAreEvictedAtOnce:
        node_b_.Evict(kBadPage);
        net_.Post(*bad_a_, WriteOf(1, node_b_.Remote(at)), {node_a_.Local(at, kPage)});
        break;
      case PageFailure::kReadSourceStaysAbsent:
        node_b_.Evict(kBadPage);
        net_.Post(*bad_a_, ReadOf(1, node_b_.Remote(at)), {node_a_.Local(at, kPage)});
        break;
    }
  }

  void PostGood(uint64_t id) {
    const uint64_t at = kGoodPage * kPage;
    if (id % 3 == 0) {
      net_.Post(*good_a_, ReadOf(id, node_b_.Remote(at)), {node_a_.Local(at, kPage)});
    } else if (id % 3 == 1) {
      net_.Post(*good_a_, WriteOf(id, node_b_.Remote(at)), {node_a_.Local(at, kPage)});
    } else {
      net_.PostReceive(*good_b_, id, {node_b_.Local(at, kPage)});
      net_.Post(*good_a_, SendOf(id), {node_a_.Local(at, kPage)});
    }
  }

  const PageFailure failure_;
  RcNet net_;
  RcNode& node_a_;
  RcNode& node_b_;
  RcEnd* good_a_ = nullptr;
  RcEnd* good_b_ = nullptr;
  RcEnd* bad_a_ = nullptr;
  RcEnd* bad_b_ = nullptr;
  uint64_t faults_ = 0;
  uint64_t bad_packets_ = 0;
};

class IsolationTest : public testing::TestWithParam<PageFailure> {};

TEST_P(IsolationTest, TheOtherCompletesAtTheSameTimes) {
  Isolation alone(PageFailure::kNone);
  const Record expected = alone.Run();
  ASSERT_EQ(expected.size(), Isolation::kOperations);
  EXPECT_EQ(alone.faults(), 0u);

  Isolation beside(GetParam());
  EXPECT_EQ(beside.Run(), expected);
  EXPECT_GT(beside.faults(), 0u);
  // Even if the pages are evicted at once, the held packet finds them present.
  EXPECT_EQ(beside.bad_one_has_completed(), GetParam() == PageFailure::kPagesAreEvictedAtOnce);
  EXPECT_EQ(beside.timeouts(), 0u);
}

INSTANTIATE_TEST_SUITE_P(PageFailures, IsolationTest,
                         testing::Values(PageFailure::kSendPagesStayAbsent,
                                         PageFailure::kReadBufferStaysAbsent,
                                         PageFailure::kWriteTargetStaysAbsent,
                                         PageFailure::kReadSourceStaysAbsent,
                                         PageFailure::kPagesAreEvictedAtOnce),
                         [](const auto& row) { return NameOf(row.param); });

}  // namespace
}  // namespace verbena::scenario
