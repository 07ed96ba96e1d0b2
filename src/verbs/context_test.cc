#include "verbena/context.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

TEST(ContextTest, RefusesInvalidOptions) {
  const auto code_with = [](const std::function<void(Options&)>& change) {
    Options options = VerbsTestOptions();
    change(options);
    return CodeOf(Context::Open(options));
  };
  EXPECT_EQ(code_with([](Options& o) { o.sges_max = kSgesMax + 1; }), ErrorCode::kInvalid);
  EXPECT_EQ(code_with([](Options& o) { o.loopback_packets = 100; }), ErrorCode::kInvalid);
  EXPECT_EQ(code_with([](Options& o) { o.pager_threads = 0; }), ErrorCode::kInvalid);
  EXPECT_EQ(code_with([](Options& o) { o.outbox_packets = 0; }), ErrorCode::kInvalid);
  EXPECT_EQ(code_with([](Options& o) { o.base_port = 0; }), ErrorCode::kInvalid);
  EXPECT_EQ(code_with([](Options& o) { o.endpoint_base_port = 65'281; }), ErrorCode::kInvalid);
  EXPECT_EQ(code_with([](Options& o) { o.base_port = o.endpoint_base_port + 1; }),
            ErrorCode::kInvalid);
  EXPECT_EQ(code_with([](Options& o) { o.endpoints_max = 0; }), ErrorCode::kInvalid);
  EXPECT_EQ(code_with([](Options& o) { o.endpoints_max = 4'097; }), ErrorCode::kInvalid);
  EXPECT_EQ(code_with([](Options& o) { o.multicast_endpoints = 0; }), ErrorCode::kInvalid);
  EXPECT_EQ(code_with([](Options& o) { o.sges_max = 1; }), std::nullopt);
}

TEST(ContextTest, TwoInOneProcessHaveTheirOwnPorts) {
  const Context a = Good(Context::Open(VerbsTestOptions()));
  const Context b = Good(Context::Open(VerbsTestOptions()));
  EXPECT_NE(a.endpoint(), b.endpoint());
  EXPECT_EQ(a.port(), a.options().base_port + a.endpoint());
  EXPECT_NE(a.port(), b.port());
}

TEST(ContextTest, ListsTheGidsOfTheMachine) {
  const auto gids = Good(Context::Gids());
  const auto home = std::ranges::find(gids, *ParseGid("127.0.0.1"), &GidEntry::gid);
  ASSERT_NE(home, gids.end());
  EXPECT_TRUE(home->loopback && home->up);
  EXPECT_GT(home->mtu, 1'500U);
  EXPECT_EQ(home->interface_name, "lo");
  EXPECT_EQ(Good(Context::LargestMtu({.source = home->gid, .destination = home->gid})),
            PathMtu::k4096);
}

// A port must not report a path MTU that Modify refuses. Packets have headers of up to 64 bytes
// besides IP and UDP headers. The MTU of a removed interface is 0.
TEST(ContextTest, FindsTheLargestMtuOfAnInterface) {
  const auto largest = [](const char* gid, uint32_t mtu) {
    return Context::LargestMtu({.gid = *ParseGid(gid), .interface_name = "x", .mtu = mtu});
  };
  EXPECT_EQ(largest("10.0.0.1", 4'096 + 64 + 28), PathMtu::k4096);
  EXPECT_EQ(largest("10.0.0.1", 4'096 + 64 + 27), PathMtu::k2048);
  EXPECT_EQ(largest("fd00::1", 4'096 + 64 + 48), PathMtu::k4096);
  EXPECT_EQ(largest("fd00::1", 4'096 + 64 + 47), PathMtu::k2048);
  EXPECT_EQ(largest("10.0.0.1", 1'500), PathMtu::k1024);
  EXPECT_EQ(largest("10.0.0.1", 0), PathMtu::k256);
}

TEST(ContextTest, ReturnsCountersAndWarnings) {
  const Context context = Good(Context::Open(VerbsTestOptions()));
  EXPECT_EQ(Good(context.Query()).port.packets_sent, 0U);
  static_cast<void>(context.TakeWarnings());
  EXPECT_TRUE(context.TakeWarnings().empty());
}

TEST(ContextTest, AnEmptyHandleRefusesAllCalls) {
  Context context = Good(Context::Open(VerbsTestOptions()));
  const Context taken = std::move(context);
  EXPECT_TRUE(taken);
  EXPECT_FALSE(context);  // NOLINT(bugprone-use-after-move): tests a moved-from handle
  EXPECT_EQ(CodeOf(context.Query()), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(ProtectionDomain::Allocate(context)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(CompletionQueue::Create(context, 16)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(CompletionChannel::Create(context)), ErrorCode::kInvalid);
  EXPECT_EQ(context.endpoint(), 0);
  EXPECT_EQ(context.port(), 0);
  EXPECT_EQ(context.events_fd(), -1);
  EXPECT_EQ(context.WaitEvent(), std::nullopt);
  EXPECT_TRUE(context.TakeWarnings().empty());
  EXPECT_EQ(context.options().qps_max, Options{}.qps_max);
}

TEST(ContextTest, AnEventNamesItsQueue) {
  VerbsNode a, b;
  fcntl(b.context.events_fd(), F_SETFL, O_NONBLOCK);
  EXPECT_EQ(b.context.WaitEvent(), std::nullopt);
  QueuePair qa = a.MakeQp(), qb = b.MakeQp();
  ConnectPair(a, qa, b, qb);
  ASSERT_TRUE(qa.Post(Write{.data = a.region.Local(0, 8), .remote = {8, Key{0x12345678}}}));
  EXPECT_EQ(a.WaitStatus(), CompletionStatus::kRemoteAccessError);
  const Time end = Now() + Seconds(20);
  std::optional<AsyncEvent> event;
  while (!event && Now() < end) event = b.context.WaitEvent();
  EXPECT_EQ(event, (AsyncEvent{.type = AsyncEventType::kQpAccessError, .qp = qb.number()}));
}

// Makes calls in a child on objects of its parent; returns how many are not refused with kForked.
int CallsThatAreNotRefused(VerbsNode& node, QueuePair& qp) {
  int taken = 0;
  const auto count = [&](std::optional<ErrorCode> code) { taken += code != ErrorCode::kForked; };
  count(CodeOf(node.context.Query()));
  count(CodeOf(ProtectionDomain::Allocate(node.context)));
  count(CodeOf(qp.Query()));
  count(CodeOf(qp.Post(Send{})));
  count(CodeOf(qp.Post(Receive{})));
  const SendRequest chain[] = {Send{}};
  count(CodeOf(qp.PostChain(chain).result));
  count(CodeOf(node.cq.RequestNotify()));
  Completion completion;
  count(CodeOf(node.cq.Poll({&completion, 1})));
  count(CodeOf(node.cq.StartPoll(completion)));
  count(CodeOf(qp.Destroy()));
  return taken;
}

TEST(ContextTest, AChildCannotUseObjectsOfItsParent) {
  VerbsNode a, b;
  QueuePair qa = a.MakeQp(), qb = b.MakeQp();
  ConnectPair(a, qa, b, qb);
  const pid_t child = fork();
  if (child == 0) {
    const int taken = CallsThatAreNotRefused(a, qa);
    { const QueuePair gone = std::move(qa); }
    // The child can open a device of its own.
    _exit(taken + (Context::Open(VerbsTestOptions()).has_value() ? 0 : 100));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  // The parent's connection still works.
  ASSERT_TRUE(qb.Post(Receive{.data = b.region.Local(0, 64)}));
  ASSERT_TRUE(qa.Post(Send{.data = a.region.Local(0, 64)}));
  EXPECT_EQ(a.WaitStatus(), CompletionStatus::kSuccess);
}

TEST(ContextVariablesTest, TheEnvironmentMayNameTheTrace) {
  const std::string path = ::testing::TempDir() + "/verbena-context-test.pcapng";
  setenv("VERBENA_TRACE", path.c_str(), 1);
  const auto context = Context::Open();
  const auto chosen = Context::Open({.trace = path + ".own"});
  unsetenv("VERBENA_TRACE");
  ASSERT_TRUE(context) << context.error().text;
  EXPECT_EQ(context->options().trace, path);
  EXPECT_EQ(unlink(path.c_str()), 0) << "the trace file exists";
  ASSERT_TRUE(chosen) << chosen.error().text;
  EXPECT_EQ(chosen->options().trace, path + ".own") << "the option overrides the variable";
  unlink((path + ".own").c_str());
}

}  // namespace
}  // namespace verbena
