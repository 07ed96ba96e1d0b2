// Contexts that share an adapter: what is shared, and what is separate.

#include <fcntl.h>
#include <poll.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

struct SharingNode : VerbsNode {
  SharingNode() : VerbsNode("127.0.0.1", SharedAdapterOptions()) {}
};

// The next event of a context; nullopt if there is none in time.
std::optional<AsyncEvent> NextEvent(const Context& context, int milliseconds = 20'000) {
  pollfd file{.fd = context.events_fd(), .events = POLLIN, .revents = 0};
  if (poll(&file, 1, milliseconds) != 1) return std::nullopt;
  return context.WaitEvent();
}

bool SendsOne(const VerbsNode& from, const QueuePair& qp_from, const VerbsNode& to,
              const QueuePair& qp_to) {
  if (!qp_to.Post(Receive{.data = to.region.Local(0, 64)})) return false;
  if (!qp_from.Post(Send{.data = from.region.Local(1'024, 64)})) return false;
  return from.WaitStatus() == CompletionStatus::kSuccess &&
         to.WaitStatus() == CompletionStatus::kSuccess;
}

class SharedAdapterTest : public testing::Test {
 protected:
  void SetUp() override { ConnectPair(a_, qa_, b_, qb_); }

  // Node a writes with an invalid key, which b must refuse.
  void WriteWhereNothingIs() {
    const Write write{.data = a_.region.Local(0, 8), .remote = {8, Key{0x12345678}}};
    ASSERT_TRUE(qa_.Post(write));
    EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kRemoteAccessError);
  }

  SharingNode a_, b_;
  QueuePair qa_ = a_.MakeQp();
  QueuePair qb_ = b_.MakeQp();
};

TEST_F(SharedAdapterTest, ContextsHaveOneEndpointAndTheirOwnFiles) {
  EXPECT_EQ(a_.context.port(), b_.context.port());
  EXPECT_NE(a_.context.events_fd(), b_.context.events_fd());
  EXPECT_TRUE(SendsOne(a_, qa_, b_, qb_));
  EXPECT_EQ(Good(a_.context.Query()).sockets.datagrams_sent, 0U) << "loopback uses no socket";
}

TEST_F(SharedAdapterTest, AnEventGoesToTheContextThatMadeItsObject) {
  WriteWhereNothingIs();
  const auto event = NextEvent(b_.context);
  EXPECT_EQ(event, (AsyncEvent{.type = AsyncEventType::kQpAccessError, .qp = qb_.number()}));
  EXPECT_EQ(NextEvent(a_.context, 0), std::nullopt);
}

// Handles may be destroyed in any order: a queue pair works without the handle of its context, but
// no thread can take its events.
TEST_F(SharedAdapterTest, ClosingAContextWithObjectsDoesNotAffectOthers) {
  const int file = b_.context.events_fd();
  { const Context closed = std::move(b_.context); }
  EXPECT_EQ(fcntl(file, F_GETFD), -1) << "the file of its events is closed";
  EXPECT_TRUE(SendsOne(a_, qa_, b_, qb_));
  WriteWhereNothingIs();
  EXPECT_EQ(NextEvent(a_.context, 0), std::nullopt);
  SharingNode c, d;
  QueuePair qc = c.MakeQp(), qd = d.MakeQp();
  ConnectPair(c, qc, d, qd);
  EXPECT_TRUE(SendsOne(c, qc, d, qd));
}

// A key is valid in its protection domain only, and the domain belongs to one context.
TEST_F(SharedAdapterTest, AKeyOfAnotherContextIsRefusedAsLocalKey) {
  ASSERT_TRUE(qb_.Post(Receive{.data = b_.region.Local(0, 64)}));
  ASSERT_TRUE(qa_.Post(Send{.data = b_.region.Local(0, 64)}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kLocalProtectionError);
}

TEST_F(SharedAdapterTest, AKeyOfAnotherContextIsRefusedAsRemoteKey) {
  const SharingNode other;
  ASSERT_TRUE(qa_.Post(Write{.data = a_.region.Local(0, 8), .remote = other.region.Remote()}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kRemoteAccessError);
  EXPECT_TRUE(other.Holds(0, 1, 0));
}

TEST_F(SharedAdapterTest, AnAddressHandleOfAnotherContextIsRefused) {
  QueuePair ud = a_.MakeQp(QpType::kUd);
  Good(ud.Activate(QKey{1}));
  const auto handle =
      Good(AddressHandle::Create(b_.domain, {.source = b_.gid, .destination = b_.gid}));
  ASSERT_TRUE(ud.Post(Send{.data = a_.region.Local(0, 8),
                           .to = Datagram{.handle = handle.id(), .qp = ud.number()}}));
  EXPECT_NE(a_.WaitStatus(), CompletionStatus::kSuccess);
}

TEST_F(SharedAdapterTest, ObjectsOfAnotherContextAreRefused) {
  QpSpec spec = a_.Spec();
  spec.receive_cq = &b_.cq;
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, spec)), ErrorCode::kInvalid);
  const auto srq = Good(SharedReceiveQueue::Create(b_.domain, 4, 1));
  spec = a_.Spec();
  spec.srq = &srq;
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, spec)), ErrorCode::kInvalid);
  const auto xrc = Good(XrcDomain::Open(b_.context));
  spec = {.type = QpType::kXrcReceive, .xrc_domain = &xrc};
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, spec)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(SharedReceiveQueue::CreateXrc(a_.domain, xrc, a_.cq, 4, 1)),
            ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(SharedReceiveQueue::CreateTagMatching(a_.domain, b_.cq, 4, 1, 4)),
            ErrorCode::kInvalid);
  const auto channel = Good(CompletionChannel::Create(b_.context));
  EXPECT_EQ(CodeOf(CompletionQueue::Create(a_.context, 4, &channel)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(a_.region.Reregister({.domain = &b_.domain})), ErrorCode::kInvalid);
}

TEST_F(SharedAdapterTest, ContextsShareTheirLimits) {
  Options options = SharedAdapterOptions();
  options.contexts_max = 2;
  const Context a = Good(Context::Open(options));
  Context b = Good(Context::Open(options));
  EXPECT_EQ(CodeOf(Context::Open(options)), ErrorCode::kLimit);
  { const Context closed = std::move(b); }
  EXPECT_EQ(CodeOf(Context::Open(options)), std::nullopt);
}

size_t EntriesIn(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

TEST(ManyContextsTest, ThreeHundredAreOneEndpointOneProgressThreadAndAFileEach) {
  constexpr size_t kContexts = 300;
  std::thread([] {}).join();  // a sanitizer starts a thread of its own with the first one
  const size_t threads_without = EntriesIn("/proc/self/task");
  std::deque<SharingNode> nodes(1);
  const size_t threads = EntriesIn("/proc/self/task");
  const size_t files = EntriesIn("/proc/self/fd");
  EXPECT_LE(threads - threads_without, 2 + SharedAdapterOptions().pager_threads);
  while (nodes.size() < kContexts) nodes.emplace_back();
  EXPECT_EQ(EntriesIn("/proc/self/task"), threads);
  EXPECT_EQ(EntriesIn("/proc/self/fd"), files + kContexts - 1);
  for (size_t i = 0; i < kContexts; ++i) {
    SharingNode& from = nodes[i];
    SharingNode& to = nodes[(i + 1) % kContexts];
    EXPECT_EQ(from.context.port(), to.context.port());
    QueuePair qp_from = from.MakeQp(), qp_to = to.MakeQp();
    ConnectPair(from, qp_from, to, qp_to);
    ASSERT_TRUE(SendsOne(from, qp_from, to, qp_to)) << i;
  }
}

TEST(SharedAdapterThreads, ThreadsOpenUseAndCloseContexts) {
  std::atomic<int> failures = 0;
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) {
      SharingNode a, b;
      QueuePair qa = a.MakeQp(), qb = b.MakeQp();
      ConnectPair(a, qa, b, qb);
      if (!SendsOne(a, qa, b, qb)) ++failures;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace verbena
