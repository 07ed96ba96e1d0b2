// Memory that is registered, and that its program unmaps, moves, protects, gives up, truncates and
// forks, while peers read and write it: another process, and a queue pair of the same one. No
// stale byte is seen, nothing crashes, nothing hangs; a queue pair whose memory was away is made
// anew.
//
// usage: torture [--long | --seconds N] [--seed N] [--events] [--sandbox]

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "adapter/page_events.h"
#include "adapter/populate.h"
#include "adapter/presence_scan.h"
#include "tests/integration/torture_arena.h"
#include "tests/support/adapter_world.h"
#include "tests/support/sandbox.h"

namespace verbena::torture {
namespace {

using adapter::QueuePair;
using adapter::TestNode;
using queue::CompletionStatus;
using queue::SendOpcode;

constexpr uint64_t kPlainPages = 256;
constexpr uint64_t kFilePages = 64;
constexpr uint64_t kAllPages = kPlainPages + kFilePages;

struct Settings {
  bool page_events = false;
  int seconds = 15;
  uint64_t seed = 1;
};
Settings settings;

// What the two processes tell each other: the pages' lives, and who is connected to whom.
struct Shared {
  const uint16_t base_port = adapter::TestBasePort();
  std::array<Epoch, kAllPages> epochs;
  std::array<std::atomic<uint64_t>, kAllPages> addresses;
  std::array<std::atomic<uint32_t>, kAllPages> keys;
  std::atomic<uint32_t> asked = 0;     // connections by the peer
  std::atomic<uint32_t> answered = 0;  // and by the victim
  std::atomic<uint32_t> peer_qp = 0;
  std::atomic<uint32_t> victim_qp = 0;
  std::atomic<bool> is_over = false;
  std::atomic<uint64_t> accesses = 0;
  std::atomic<uint64_t> failures = 0;  // accesses that met pages which were away
};

// The same of both processes, so that each finds the other.
adapter::Options OptionsOf(const Shared& shared) {
  adapter::Options options;
  options.base_port = shared.base_port;
  options.page_events = settings.page_events;
  return options;
}

Shared* MakeShared() {
  void* const place =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(place != MAP_FAILED);
  return new (place) Shared;
}

// One who reads and writes the victim's pages, and judges what it sees.
class Peer {
 public:
  // `part`: which part of each page it writes. `arenas` as far as it can look at them itself.
  Peer(TestNode& node, Shared& shared, uint64_t part, std::vector<Arena*> arenas)
      : node_(node),
        shared_(shared),
        part_(part),
        arenas_(std::move(arenas)),
        random_(settings.seed * 31 + part) {}

  // Whether the connection still stands.
  bool Access(QueuePair& qp) {
    const uint64_t slot = random_.Below(kAllPages);
    const uint32_t before = shared_.epochs[slot].load();
    const CompletionStatus status =
        random_.Chance(1, 2) ? Read(qp, slot, before) : Write(qp, slot, before);
    shared_.accesses.fetch_add(1);
    if (status == CompletionStatus::kSuccess) return true;
    shared_.failures.fetch_add(1);
    // Only memory that its program took away may be refused.
    const uint32_t after = shared_.epochs[slot].load();
    EXPECT_FALSE(before == after && before % 2 == 0)
        << "page " << slot << " was there, but: " << NameOf(status);
    EXPECT_EQ(status, CompletionStatus::kRemoteAccessError);
    return false;
  }

 private:
  queue::Remote Remote(uint64_t slot, uint64_t offset) const {
    return {shared_.addresses[slot].load() + offset, queue::KeyValue(shared_.keys[slot].load())};
  }
  CompletionStatus Do(QueuePair& qp, SendOpcode opcode, const queue::Remote& remote,
                      uint64_t bytes) {
    adapter::Post(node_, qp, adapter::MakeSend(opcode, 1, remote), node_.Bytes(0, bytes));
    const auto completion = node_.Wait();
    CHECK(completion.has_value());  // else it hangs
    return completion->status;
  }

  CompletionStatus Read(QueuePair& qp, uint64_t slot, uint32_t before) {
    const CompletionStatus status = Do(qp, SendOpcode::kRead, Remote(slot, 0), kStampBytes);
    const uint32_t after = shared_.epochs[slot].load();
    if (status != CompletionStatus::kSuccess) return status;
    for (uint64_t at = 0; at < kStampBytes; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, &node_.memory()[at], sizeof word);
      EXPECT_TRUE(MayBeSeen(word, slot, before, after))
          << "page " << slot << ": " << std::hex << word << std::dec << " between " << before
          << " and " << after;
      if (testing::Test::HasFailure()) std::abort();
    }
    return status;
  }

  CompletionStatus Write(QueuePair& qp, uint64_t slot, uint32_t before) {
    const uint64_t offset = kStampBytes + part_ * kPeerBytes;
    const uint64_t word = ~StampOf(slot, ++writes_);  // unlike any stamp of the program
    for (uint64_t at = 0; at < kPeerBytes; at += sizeof word) {
      std::memcpy(&node_.memory()[at], &word, sizeof word);
    }
    CompletionStatus status = Do(qp, SendOpcode::kWrite, Remote(slot, offset), kPeerBytes);
    if (status != CompletionStatus::kSuccess) return status;
    if (Arena* const arena = ArenaOf(slot)) {
      EXPECT_TRUE(before % 2 != 0 || arena->Holds(slot - arena->slot(0), offset, word, before));
      return status;
    }
    std::memset(node_.memory().data(), 0, kPeerBytes);
    status = Do(qp, SendOpcode::kRead, Remote(slot, offset), kPeerBytes);
    if (status != CompletionStatus::kSuccess) return status;
    const bool was_stable = before % 2 == 0 && shared_.epochs[slot].load() == before;
    uint64_t found = 0;
    std::memcpy(&found, node_.memory().data(), sizeof found);
    EXPECT_TRUE(!was_stable || found == word) << "page " << slot << ": a write is lost";
    return status;
  }

  Arena* ArenaOf(uint64_t slot) const {
    for (Arena* const arena : arenas_) {
      if (slot >= arena->slot(0) && slot < arena->slot(arena->pages())) return arena;
    }
    return nullptr;
  }

  TestNode& node_;
  Shared& shared_;
  const uint64_t part_;
  const std::vector<Arena*> arenas_;
  Random random_;
  uint32_t writes_ = 0;
};

// 0.5 s, eight times: a machine with much other work may let a process wait that long.
constexpr adapter::TestLink kLink{.timeout = 17};

void ConnectTo(TestNode& node, QueuePair& qp, uint32_t number) {
  adapter::Succeed(ToInit(node, qp));
  adapter::Succeed(ToRtr(node, qp, Way(node, node), wire::QpNumber(number), kLink));
  adapter::Succeed(ToRts(node, qp, kLink));
}

// The other process.
int RunPeer(Shared& shared) {
  TestNode node("127.0.0.1", 1 << 16, OptionsOf(shared));
  Peer peer(node, shared, 0, {});
  while (!shared.is_over.load()) {
    QueuePair& qp = node.MakeQp(transport::QpType::kRc);
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
  Torture() {
    for (const auto& arena : arenas_) Offer(*arena);
  }

  void Offer(Arena& arena) {
    const auto at = reinterpret_cast<uintptr_t>(arena.page(0));
    const auto keys = victim_->adapter().RegisterRegion(
        {.pd = victim_->pd(),
         .start = memory::KeyAddress(at),
         .length = arena.bytes(),
         .rights = memory::Rights::kAll},
        memory::LinearBacking{.base = memory::PhysicalAddress(at)});
    ASSERT_TRUE(keys.has_value());
    for (uint64_t page = 0; page < arena.pages(); ++page) {
      shared_->addresses[arena.slot(page)].store(at + page * kPage);
      shared_->keys[arena.slot(page)].store(keys->remote.value());
    }
  }

  // Makes a queue pair for each that the other process asks for.
  void Answer() {
    QueuePair* qp = nullptr;
    while (!shared_->is_over.load()) {
      if (shared_->asked.load() == shared_->answered.load()) {
        usleep(50);
        continue;
      }
      if (qp != nullptr) adapter::Succeed(victim_->adapter().Destroy(qp));
      qp = &victim_->MakeQp(transport::QpType::kRc);
      ConnectTo(*victim_, *qp, shared_->peer_qp.load());
      shared_->victim_qp.store(qp->number().value());
      shared_->answered.store(shared_->asked.load());
    }
  }

  // A peer that is another adapter of this process.
  void AccessFromHere() {
    TestNode near("127.0.0.1", 1 << 16, OptionsOf(*shared_));
    Peer peer(near, *shared_, 1, {arenas_[0].get(), arenas_[1].get()});
    while (!shared_->is_over.load()) {
      QueuePair& ours = near.MakeQp(transport::QpType::kRc);
      QueuePair& theirs = victim_->MakeQp(transport::QpType::kRc);
      Connect(near, ours, *victim_, theirs, kLink);
      while (!shared_->is_over.load() && peer.Access(ours)) {
      }
      adapter::Succeed(near.adapter().Destroy(&ours));
      adapter::Succeed(victim_->adapter().Destroy(&theirs));
    }
  }

  void Torment(uint64_t number) {
    Random random(settings.seed * 1'000 + number);
    while (!shared_->is_over.load()) {
      arenas_[random.Below(arenas_.size())]->Torment(random);
      usleep(static_cast<useconds_t>(random.Below(1'000)));
    }
  }

  // Before there is any thread.
  Shared* const shared_ = MakeShared();
  const pid_t child_ = fork();
  std::unique_ptr<TestNode> victim_ =
      child_ == 0 ? nullptr : std::make_unique<TestNode>("127.0.0.1", 1 << 16, OptionsOf(*shared_));
  std::vector<std::unique_ptr<Arena>> arenas_ = MakeArenas();

 private:
  std::vector<std::unique_ptr<Arena>> MakeArenas() {
    if (child_ == 0) {
      while (shared_->keys[kAllPages - 1].load() == 0) usleep(100);
      _exit(RunPeer(*shared_));
    }
    std::vector<std::unique_ptr<Arena>> arenas;
    arenas.push_back(std::make_unique<Arena>(0, kPlainPages, false, &shared_->epochs[0]));
    arenas.push_back(
        std::make_unique<Arena>(kPlainPages, kFilePages, true, &shared_->epochs[kPlainPages]));
    return arenas;
  }
};

TEST_F(Torture, NoStaleByteNoCrashNoHang) {
  std::vector<std::thread> threads;
  threads.emplace_back([this] { Answer(); });
  threads.emplace_back([this] { AccessFromHere(); });
  for (uint64_t i = 0; i < 3; ++i) threads.emplace_back([this, i] { Torment(i); });
  std::this_thread::sleep_for(std::chrono::seconds(settings.seconds));
  shared_->is_over.store(true);
  for (std::thread& thread : threads) thread.join();
  int status = -1;
  ASSERT_EQ(waitpid(child_, &status, 0), child_);
  EXPECT_EQ(status, 0) << "the other process";
  const auto report = victim_->adapter().Query();
  std::printf(
      "%llu accesses, %llu met memory that was away; %llu page requests, %llu refused, "
      "%llu pages forgotten, %llu copies failed\n",
      static_cast<unsigned long long>(shared_->accesses.load()),
      static_cast<unsigned long long>(shared_->failures.load()),
      static_cast<unsigned long long>(report->port.page_requests),
      static_cast<unsigned long long>(report->port.pages_refused),
      static_cast<unsigned long long>(report->port.pages_forgotten),
      static_cast<unsigned long long>(report->port.copies_failed));
  EXPECT_GT(shared_->accesses.load(), 100U);
  EXPECT_GT(report->port.page_requests, 0U);
}

}  // namespace

int Main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  bool in_sandbox = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--long") settings.seconds = 600;
    if (argument == "--sandbox") in_sandbox = true;
    if (argument == "--events") settings.page_events = true;
    if (i + 1 < count && argument == "--seconds") settings.seconds = std::atoi(arguments[++i]);
    if (i + 1 < count && argument == "--seed") {
      settings.seed = static_cast<uint64_t>(std::atoll(arguments[++i]));
    }
  }
  if (in_sandbox && !EnterSandbox()) {
    std::fprintf(stderr, "torture: the system has no seccomp filters\n");
    return 77;
  }
  // Else it would show nothing.
  std::string why_not;
  CHECK(!in_sandbox || adapter::PageEvents::Open(why_not) == nullptr);
  CHECK(!in_sandbox ||
        (adapter::BestPopulateMethod() == adapter::PopulateMethod::kTouch &&
         adapter::PresenceScan().method() == adapter::PresenceScan::Method::kMincore));
  std::printf("torture: --seconds %d --seed %llu%s%s\n", settings.seconds,
              static_cast<unsigned long long>(settings.seed),
              settings.page_events ? " --events" : "", in_sandbox ? " --sandbox" : "");
  return RUN_ALL_TESTS();
}

}  // namespace verbena::torture

int main(int count, char** arguments) { return verbena::torture::Main(count, arguments); }
