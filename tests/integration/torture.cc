// A program (the victim) unmaps, moves, protects, discards, truncates and forks its registered
// memory while two peers, one of them in another process, read and write it, execute atomics on it
// and send to it, and while the victim itself sends from it and reads to it. No access sees a stale
// byte, nothing crashes, nothing hangs. A queue pair that fails because of unmapped memory is
// replaced.
//
// usage: torture [--long | --seconds N] [--seed N] [--events] [--sandbox]

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/page_events.h"
#include "odp/populate.h"
#include "odp/residency_probe.h"
#include "tests/integration/torture_own_work.h"
#include "tests/integration/torture_pages.h"
#include "tests/integration/torture_peer.h"
#include "tests/integration/torture_receiver.h"
#include "tests/integration/torture_shared.h"
#include "tests/integration/torture_unreliable.h"
#include "tests/support/adapter_world.h"
#include "tests/support/sandbox.h"
#include "tests/support/seed_options.h"

namespace verbena::torture {
namespace {

using adapter::QueuePair;
using adapter::TestNode;

void ConnectTo(TestNode& node, QueuePair& qp, uint32_t number) {
  adapter::Succeed(ToInit(node, qp));
  adapter::Succeed(ToRtr(node, qp, PathFrom(node, node), QpNumber(number), kLink));
  adapter::Succeed(ToRts(node, qp, kLink));
}

// The other process.
int RunPeer(Shared& shared) {
  TestNode node("127.0.0.1", 1 << 16, OptionsOf(shared));
  Peer peer(node, shared, {Part::kFarWrites, Part::kFarAtomics}, nullptr);
  while (!shared.is_over.load()) {
    QueuePair& qp = node.MakeQp(QpType::kRc);
    shared.peer_qp.store(qp.number().value());
    shared.asked.fetch_add(1);
    while (shared.answered.load() != shared.asked.load() && !shared.is_over.load()) usleep(50);
    if (shared.is_over.load()) break;
    ConnectTo(node, qp, shared.victim_qp.load());
    while (!shared.is_over.load() && peer.Access(qp)) {
    }
    adapter::Succeed(node.adapter().Destroy(&qp));
  }
  return testing::Test::HasFailure() ? 1 : 0;
}

class Torture : public testing::Test {
 protected:
  // Makes a queue pair for each request of the other process, and receives until that process has
  // ended: its last message needs a receive, too.
  void Answer() {
    Receiver receiver(*victim_, *shared_, *pages_, Part::kFarReceives);
    QueuePair* qp = nullptr;
    while (!has_peer_ended_.load()) {
      if (shared_->asked.load() == shared_->answered.load()) {
        if (qp != nullptr) receiver.Refill();
        while (receiver.Take(Microseconds(1))) {
        }
        usleep(50);  // other threads poll
        continue;
      }
      if (qp != nullptr) adapter::Succeed(victim_->adapter().Destroy(qp));
      qp = &MakeQp(*victim_, QpType::kRc, victim_->cq(), receiver.cq());
      receiver.Begin(*qp);
      ConnectTo(*victim_, *qp, shared_->peer_qp.load());
      shared_->victim_qp.store(qp->number().value());
      shared_->answered.store(shared_->asked.load());
    }
  }

  // A peer on another adapter of this process.
  void AccessFromHere() {
    TestNode near = MakeNode();
    Peer peer(near, *shared_, {Part::kNearWrites, Part::kNearAtomics}, pages_.get());
    Receiver receiver(*victim_, *shared_, *pages_, Part::kNearReceives);
    while (!shared_->is_over.load()) {
      QueuePair& ours = near.MakeQp(QpType::kRc);
      QueuePair& theirs = MakeQp(*victim_, QpType::kRc, victim_->cq(), receiver.cq());
      Connect(near, ours, *victim_, theirs, kLink);
      receiver.Begin(theirs);
      do {
        while (receiver.Take(Microseconds(1))) {
        }
        receiver.Refill();
      } while (!shared_->is_over.load() && peer.Access(ours));
      adapter::Succeed(near.adapter().Destroy(&ours));
      adapter::Succeed(victim_->adapter().Destroy(&theirs));
    }
  }

  void WorkOfItsOwn() {
    TestNode calm = MakeNode();
    OwnWork(*victim_, calm, *shared_, *pages_).Run();
  }

  void SendUnreliably() {
    TestNode calm = MakeNode();
    Unreliable(*victim_, calm, *shared_, *pages_).Run();
  }

  void Torment(uint64_t number) {
    Random random(settings.seed * 1'000 + number);
    while (!shared_->is_over.load()) {
      pages_->Torment(random);
      usleep(static_cast<useconds_t>(random.Below(1'000)));
    }
  }

  TestNode MakeNode() const { return TestNode("127.0.0.1", 1 << 16, OptionsOf(*shared_)); }

  // Mapped before any thread starts.
  Shared* const shared_ = MakeShared();
  const pid_t child_ = StartPeer();
  std::unique_ptr<TestNode> victim_ =
      std::make_unique<TestNode>("127.0.0.1", 1 << 16, OptionsOf(*shared_));
  std::unique_ptr<Pages> pages_ = std::make_unique<Pages>(*shared_, *victim_);
  std::atomic<bool> has_peer_ended_ = false;

 private:
  pid_t StartPeer() {
    const pid_t child = fork();
    if (child != 0) return child;
    while (shared_->keys[kAllPages - 1].load() == 0) usleep(100);
    _exit(RunPeer(*shared_));
  }
};

void Print(const char* what, const Tally& tally) {
  std::printf("%s: %llu, of which %llu met unmapped memory\n", what,
              static_cast<unsigned long long>(tally.all.load()),
              static_cast<unsigned long long>(tally.away.load()));
}

TEST_F(Torture, NoStaleByteNoCrashNoHang) {
  std::vector<std::thread> threads;
  threads.emplace_back([this] { Answer(); });
  threads.emplace_back([this] { AccessFromHere(); });
  threads.emplace_back([this] { WorkOfItsOwn(); });
  threads.emplace_back([this] { SendUnreliably(); });
  for (uint64_t i = 0; i < 3; ++i) threads.emplace_back([this, i] { Torment(i); });
  std::this_thread::sleep_for(std::chrono::seconds(settings.seconds));
  shared_->is_over.store(true);
  int status = -1;
  const pid_t ended = waitpid(child_, &status, 0);
  has_peer_ended_.store(true);
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(ended, child_);
  EXPECT_EQ(status, 0) << "the other process";
  Print("requests of peers", shared_->remote);
  Print("receives", shared_->receives);
  Print("requests of the victim", shared_->own);
  Print("unreliable sends", shared_->unreliable);
  const auto report = victim_->adapter().Query();
  std::printf(
      "%llu unreliable messages arrived; %llu page requests, %llu refused, %llu pages invalidated, "
      "%llu copies failed\n",
      static_cast<unsigned long long>(shared_->arrived.load()),
      static_cast<unsigned long long>(report->port.page_requests),
      static_cast<unsigned long long>(report->port.pages_refused),
      static_cast<unsigned long long>(report->port.pages_invalidated),
      static_cast<unsigned long long>(report->port.copies_failed));
  for (const Tally* const tally :
       {&shared_->remote, &shared_->receives, &shared_->own, &shared_->unreliable}) {
    EXPECT_GT(tally->all.load(), 20U);
  }
  EXPECT_GT(shared_->arrived.load(), 0U);
  EXPECT_GT(report->port.page_requests, 0U);
}

}  // namespace

bool ParseFlag(std::string_view name, bool& in_sandbox) {
  if (name == "--long") return (settings.seconds = 600) != 0;
  if (name == "--sandbox") return in_sandbox = true;
  return name == "--events" && (settings.page_events = true);
}

bool ParseOption(std::string_view name, std::string_view value) {
  const auto number = ParseNumber(value);
  if (!number) return false;
  if (name == "--seed") settings.seed = *number;
  if (name == "--seconds") settings.seconds = static_cast<int>(*number);
  return name == "--seed" || name == "--seconds";
}

int Main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  bool in_sandbox = false;
  const auto flag = [&](std::string_view name) { return ParseFlag(name, in_sandbox); };
  if (!ParseArguments(count, arguments, flag, ParseOption)) {
    std::fprintf(stderr,
                 "usage: torture [--long | --seconds N] [--seed N] [--events] [--sandbox]\n");
    return 2;
  }
  if (in_sandbox && !EnterSandbox()) {
    std::fprintf(stderr, "torture: the system has no seccomp filters\n");
    return 77;
  }
  // Without the kernel features that were asked for, the test would not test them.
  std::string why_not;
  CHECK(!in_sandbox || PageEvents::Open(PageEvents::Scope::kAny, why_not) == nullptr);
  CHECK(!in_sandbox || (odp::BestPopulateMethod() == odp::PopulateMethod::kTouch &&
                        odp::ResidencyProbe().method() == odp::ResidencyProbe::Method::kMincore));
  std::printf("torture: --seconds %d --seed %llu%s%s\n", settings.seconds,
              static_cast<unsigned long long>(settings.seed),
              settings.page_events ? " --events" : "", in_sandbox ? " --sandbox" : "");
  return RUN_ALL_TESTS();
}

}  // namespace verbena::torture

int main(int count, char** arguments) { return verbena::torture::Main(count, arguments); }
