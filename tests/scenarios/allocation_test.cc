// No allocation on the data path. This program replaces operator new by one that counts, and runs
// everything that a data path does: sends, writes, reads, atomics, windows, registrations, page
// faults, losses, completions, events, failures. None of it may allocate.

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "base/random.h"
#include "paging/resident_set.h"
#include "tests/support/pair_fixture.h"

namespace {

// Global, because operator new has no object.
bool is_counting = false;          // NOLINT: see above
uint64_t allocations_counted = 0;  // NOLINT
uint64_t allocations_shown = 0;    // NOLINT: print the stack of this many

void CountAllocation() {
  if (!is_counting) return;
  // Printing a stack trace may allocate.
  is_counting = false;
  if (++allocations_counted <= allocations_shown) {
    std::array<void*, 24> frames;
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
    static_cast<void>(!write(STDERR_FILENO, "\n", 1));
  }
  is_counting = true;
}

void* Allocate(std::size_t size, std::size_t alignment) {
  CountAllocation();
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size) != 0) std::abort();
  return memory;
}

}  // namespace

// The default versions of all other forms call these.
void* operator new(std::size_t size) { return Allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace verbena::scenario {
namespace {

using queue::SendOpcode;

template <class Fn>
uint64_t AllocationsOf(Fn fn, uint64_t shown = 3) {
  allocations_counted = 0;
  allocations_shown = shown;
  is_counting = true;
  fn();
  is_counting = false;
  return allocations_counted;
}

TEST(AllocationTest, CountsAllocations) {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  const auto allocate = [] {
    const std::vector<int> vector(10);
    const auto line = std::make_unique<Line>();
  };
  EXPECT_EQ(AllocationsOf(allocate, 0), 2u);
}

struct RoundOptions {
  uint32_t loss = 0;         // out of 1000
  uint32_t duplication = 0;  // out of 1000
  bool page_faults = false;
  bool registers = false;
};

// Eight connections between two machines. The code that posts and polls does not allocate.
class World {
 public:
  static constexpr size_t kConnections = 8;
  static constexpr uint64_t kPage = RcNode::kPage;
  static constexpr uint64_t kPagesEach = 4;
  static constexpr size_t kPages = kConnections * kPagesEach;

  World() : node_a_(net_.AddNode(kPages)), node_b_(net_.AddNode(kPages)), srq_(64, 1) {
    net_.Reserve(8192);
    RcSpec spec;
    spec.config.ack_timeout = Milliseconds(1);
    for (size_t i = 0; i < kConnections; ++i) {
      // One connection has an SRQ.
      RcSpec spec_b = spec;
      spec_b.shared = i == 0 ? &srq_ : nullptr;
      const auto [a, b] = net_.Connect(node_a_, node_b_, spec, spec_b);
      sides_[i] = {.a = &a, .b = &b, .page = i * kPagesEach};
      sides_[i].window = *node_a_.core.windows.Allocate(node_a_.pd, WindowType::k2A);
      sides_[i].reserved = node_a_.core.regions.Reserve(node_a_.pd, 2, PageShift(12))->local;
    }
    net_.SetLink([this](const Passing&) {
      if (random_.Chance(options_.loss, 1000)) return LinkAction::Drop();
      return random_.Chance(options_.duplication, 1000) ? LinkAction::Twice(Microseconds(3))
                                                        : LinkAction::Pass();
    });
    // The first eviction allocates a list. Evictions are not on the data path.
    for (RcNode* const node : {&node_a_, &node_b_}) {
      node->Evict(0, kPages);
      node->PageIn(0, kPages);
    }
  }

  // Posts one operation of each kind on every connection, and runs until all have completed.
  void Round(const RoundOptions& options) {
    options_ = options;
    for (Side& side : sides_) {
      if (options.page_faults) {
        node_a_.Evict(side.page, kPagesEach);
        node_b_.Evict(side.page, kPagesEach);
      }
      side.a->send_cq.Arm(queue::CompletionQueue::Wanted::kAll);
      side.b->receive_cq.Arm(queue::CompletionQueue::Wanted::kSolicited);
      PostData(side);
      PostWindow(side);
      if (options.registers) PostRegistration(side);
    }
    CHECK(net_.RunUntilIdle());
    for (Side& side : sides_) CHECK(Poll(side));
  }

  // Puts a connection into error, with requests on both sides that must be flushed.
  void Break(size_t i) {
    options_ = {};
    Side& side = sides_[i];
    net_.PostReceive(*side.b, 1, {node_b_.Local(0, 64)});
    net_.Post(*side.a, WriteOf(1, RcNode::Remote(0, Key(1))), {node_a_.Local(0, 64)});
    net_.Post(*side.a, SendOf(2), {node_a_.Local(0, 64)});
    CHECK(net_.RunUntilIdle());
    CHECK(side.a->qp->state() == QpState::kErr && side.b->qp->state() == QpState::kErr);
  }

  [[nodiscard]] const RcNet& net() const { return net_; }
  [[nodiscard]] uint64_t faults() const {
    uint64_t sum = 0;
    for (const Side& side : sides_) sum += side.a->counters().page_waits;
    return sum;
  }

 private:
  struct Side {
    RcEnd* a = nullptr;
    RcEnd* b = nullptr;
    uint64_t page = 0;  // its first page, on both sides
    Key window = {};
    Key reserved = {};
    bool was_registered = false;
    uint32_t posted = 0;
  };

  static Key NextOf(Key key) {
    return {key.index(), KeyVariant(static_cast<uint8_t>(key.variant().value() + 1))};
  }
  void Post(Side& side, queue::SendWqe wqe, const Sge& sge) {
    wqe.id = WrId(++side.posted);
    net_.Post(*side.a, wqe, {sge});
  }

  void PostData(Side& side) {
    const uint64_t at = side.page * kPage;
    if (side.b == sides_[0].b) {
      const Sge sge = node_b_.Local(at, kPage);
      CHECK(srq_.Post({.wqe = {.id = WrId(1)}, .sges = {&sge, 1}}).has_value());
      srq_.SetLimit(1);  // one event per round
    } else {
      net_.PostReceive(*side.b, 1, {node_b_.Local(at, kPage)});
    }
    const Sge bytes = node_a_.Local(at, 3000);
    const Sge word = node_a_.Local(at, 8);
    queue::SendWqe send = SendOf(0);
    send.flags.solicited = true;
    Post(side, send, bytes);
    Post(side, WriteOf(0, node_b_.Remote(at + kPage)), bytes);
    Post(side, ReadOf(0, node_b_.Remote(at + kPage)), node_a_.Local(at + 2 * kPage, 3000));
    Post(side, FetchAddOf(0, node_b_.Remote(at), 1), word);
    Post(side, CompareSwapOf(0, node_b_.Remote(at), 1, 2), word);
    Post(side, RequestOf(0, SendOpcode::kAtomicWrite, node_b_.Remote(at)), word);
    const queue::FlushOperand flush{
        .remote = node_b_.Remote(at), .length = 8, .global_visibility = true};
    Post(side, RequestOf(0, SendOpcode::kFlush, flush), {});
    Post(side, RequestOf(0, SendOpcode::kDelay, queue::DelayOperand{Microseconds(1)}), {});
  }

  // Binds a window, and invalidates it.
  void PostWindow(Side& side) {
    const uint64_t at = side.page * kPage;
    const Key window = NextOf(side.window);
    const queue::WindowBind bind{.window = side.window,
                                 .region = node_a_.keys.local,
                                 .start = RcNode::kBase + at,
                                 .length = 100,
                                 .variant = window.variant(),
                                 .rights = Access::kRemoteWrite};
    Post(side, RequestOf(0, SendOpcode::kBindWindow, bind), {});
    Post(side, LocalInvalidateOf(0, window), {});
    side.window = window;
  }

  // Registers two pages that are not adjacent, and invalidates the region.
  void PostRegistration(Side& side) {
    const uint64_t at = side.page * kPage;
    if (side.was_registered) side.reserved = NextOf(side.reserved);
    side.was_registered = true;
    const queue::RegistrationOperand registration{
        .key = side.reserved, .rights = Access::kLocalRead, .page_shift = 12, .length = 2 * kPage};
    const std::array<uint64_t, 2> pages = {node_a_.Physical(at + 3 * kPage).value(),
                                           node_a_.Physical(at).value()};
    queue::SendWqe wqe = RequestOf(++side.posted, SendOpcode::kRegister, registration);
    net_.Post(*side.a, {.wqe = wqe, .pages = pages});
    Post(side, LocalInvalidateOf(0, side.reserved), {});
  }

  // True if all posted requests have succeeded.
  bool Poll(Side& side) {
    std::array<Completion, 64> completions;
    const size_t sent = side.a->send_cq.Poll(completions).value();
    bool succeeded = sent == side.posted;
    for (size_t i = 0; i < sent; ++i) {
      succeeded = succeeded && completions[i].status == CompletionStatus::kSuccess;
    }
    side.posted = 0;
    return succeeded && side.b->receive_cq.Poll(completions).value() == 1;
  }

  RcNet net_;
  RcNode& node_a_;
  RcNode& node_b_;
  queue::SharedReceiveQueue srq_;
  Random random_{1};
  RoundOptions options_;
  std::array<Side, kConnections> sides_;
};

constexpr RoundOptions kBadLink = {.loss = 30, .duplication = 30, .page_faults = true};

// Counting starts before the first packet, page fault or failure: all that they need must be
// allocated when connections are set up.

TEST(AllocationTest, NothingIsAllocatedOnAGoodLink) {
  World world;
  EXPECT_EQ(AllocationsOf([&] {
              for (int i = 0; i < 50; ++i) world.Round({});
            }),
            0u);
  EXPECT_GT(world.net().completion_events(), 0u);
  EXPECT_EQ(world.net().timeouts(), 0u);
}

TEST(AllocationTest, NothingIsAllocatedOnABadLink) {
  World world;
  EXPECT_EQ(AllocationsOf([&] {
              for (int i = 0; i < 100; ++i) world.Round(kBadLink);
            }),
            0u);
  EXPECT_GT(world.faults(), 0u);
  EXPECT_GT(world.net().timeouts(), 0u);
}

// The first registration with a key allocates records of its pages, which later ones reuse. The
// second allocates one more: a new page is recorded before the old one is released, so that a
// failure changes nothing.
TEST(AllocationTest, AnotherRegistrationByWorkRequestAllocatesNothing) {
  World world;
  for (int i = 0; i < 2; ++i) world.Round({.registers = true});
  EXPECT_EQ(AllocationsOf([&] {
              for (int i = 0; i < 50; ++i) world.Round({.registers = true});
            }),
            0u);
}

TEST(AllocationTest, AFailureAllocatesNothing) {
  World world;
  EXPECT_EQ(AllocationsOf([&] { world.Break(3); }), 0u);
}

// Requests runs of granules of an arena four times the budget, and executes the actions of the
// resident set.
void Page(paging::ResidentSet& resident_set, std::vector<paging::Action>& actions, Random& random,
          Time now) {
  for (uint64_t step = 1; step <= 5000; ++step, now += Milliseconds(1)) {
    const auto first = static_cast<uint32_t>(random.Below(1024 - 8));
    const auto count = static_cast<uint32_t>(random.Between(1, 8));
    const auto need = random.Chance(1, 2) ? paging::Need::kRead : paging::Need::kWrite;
    resident_set.PageIn(paging::Ticket(step), {first, count}, need, paging::View::kCpu, now);
    while (!resident_set.actions().empty()) {
      actions.assign(resident_set.actions().begin(), resident_set.actions().end());
      resident_set.ClearActions();
      for (const paging::Action& action : actions) {
        for (uint32_t i = 0; i < action.run.count; ++i) {
          const uint32_t granule = action.run.first + i;
          const auto read = paging::ReadOutcome::kGood;
          // A swap store that is full now and then.
          const auto write =
              step % 1000 < 10 ? paging::WriteOutcome::kFull : paging::WriteOutcome::kGood;
          if (action.verb == paging::Verb::kRead) resident_set.ReadDone(granule, read, now);
          if (action.verb == paging::Verb::kWrite) resident_set.WriteDone(granule, write, now);
        }
      }
      resident_set.OnTime(now);
    }
  }
}

TEST(AllocationTest, AWarmedUpResidentSetAllocatesNothing) {
  paging::ResidentSet resident_set(1024, {.budget = 256});
  std::vector<paging::Action> actions;
  Random random(1);
  Page(resident_set, actions, random, Time());
  const uint64_t reads = resident_set.counters().reads;
  actions.reserve(1000);
  EXPECT_EQ(AllocationsOf([&] { Page(resident_set, actions, random, Time(Seconds(10))); }), 0u);
  EXPECT_GT(resident_set.counters().reads, reads + 1000);
}

}  // namespace
}  // namespace verbena::scenario
