// Regions that are quiesced and swapped out while peers and the program use them (docs/quiesce.md).

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "adapter/control/guest_control.h"
#include "memory/spaces/current_io.h"
#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {
using memory::CurrentIo;
using queue::SendOpcode;
using Kind = GuestEvent::Kind;

constexpr uint64_t kPage = 4'096, kPages = 64, kBytes = kPages * kPage;
constexpr Duration kPatience = Seconds(20);

class QuiesceThreads : public testing::Test {
 protected:
  QuiesceThreads() {
    managed::ArenaOptions options{.size = kBytes, .budget = kBytes};
    options.swap = testing::TempDir();
    arena_ = *node_.adapter().MakeArena(options);
    std::memset(reinterpret_cast<void*>(arena_->cpu_base), 7, kBytes);
    Connect(node_, qa_, node_, qb_, {.timeout = 18});
  }

  memory::RegionKeys Register(const QuiesceTerms& terms = {}) {
    return *node_.adapter().RegisterRegion(
        Spec(), memory::LinearBacking{memory::PhysicalAddress(arena_->cpu_base)}, terms);
  }
  memory::RegionSpec Spec() const {
    return {.pd = node_.pd(),
            .start = KeyAddress(arena_->cpu_base),
            .length = kBytes,
            .rights = Access::kAll};
  }
  GuestControl& control() { return *node_.adapter().guest_control(); }
  GuestRegion Region(Key key) {
    for (const GuestRegion& region : control().Regions()) {
      if (region.id == key) return region;
    }
    return {};
  }

  // The next event, whatever it is.
  GuestEvent NextEvent() {
    for (const Time end = Now() + kPatience; seen_.empty() && Now() < end;) {
      seen_ = control().TakeEvents(Now());
      if (seen_.empty()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (seen_.empty()) return {.kind = Kind::kOverdue, .region = Key()};
    const GuestEvent next = seen_.front();
    seen_.erase(seen_.begin());
    return next;
  }
  void ExpectEvent(Kind kind, Key region) {
    const GuestEvent event = NextEvent();
    EXPECT_EQ(event.kind, kind);
    EXPECT_EQ(event.region, region);
  }
  void Take(Key region, std::optional<Range> part = {}) {
    const auto state = control().QuiesceRegion(region, part, kPatience);
    ASSERT_TRUE(state) << state.error().text;
    ASSERT_EQ(*state, QuiesceState::kQuiet);
    Succeed(control().SwapOutRegion(region));
    ExpectEvent(Kind::kSwappedOut, region);
    EXPECT_EQ(Region(region).state, QuiesceState::kOut);
  }

  // A peer reads a page of the region to the node's own memory.
  void PostRead(Key remote, uint64_t page, uint64_t id) {
    const RemoteAddress at{arena_->cpu_base + page * kPage, remote};
    Post(node_, qa_, MakeSend(SendOpcode::kRead, id, at), node_.Bytes(0, kPage));
  }
  // A page of the region is written to the peer.
  void PostWriteFrom(Key local, uint64_t page, uint64_t id) {
    const Sge from{arena_->cpu_base + page * kPage, static_cast<uint32_t>(kPage), local};
    Post(node_, qa_, MakeSend(SendOpcode::kWrite, id, node_.Remote(id * kPage)), from);
  }
  std::optional<Completion> SoonCompleted() { return node_.Wait(nullptr, Milliseconds(50)); }
  void ExpectCompleted(uint64_t id, CompletionStatus status = CompletionStatus::kSuccess) {
    const auto completion = node_.Wait();
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->status, status);
    EXPECT_EQ(completion->id, WrId(id));
  }
  bool NodeHolds(uint64_t page, int value) {
    for (uint64_t i = 0; i < kPage; ++i) {
      if (node_.memory()[page * kPage + i] != static_cast<std::byte>(value)) return false;
    }
    return true;
  }

  TestNode node_{"127.0.0.1"};
  odp::ManagedArena* arena_ = nullptr;
  QueuePair& qa_ = node_.MakeQp(QpType::kRc);
  QueuePair& qb_ = node_.MakeQp(QpType::kRc);
  std::vector<GuestEvent> seen_;
};

TEST_F(QuiesceThreads, ItsMemoryIsGivenBackAndAPeerWaitsForIt) {
  const auto keys = Register();
  Take(keys.local);
  EXPECT_EQ(arena_->arena->resident_bytes(), 0U);
  EXPECT_EQ(Region(keys.local).swapped, kBytes);
  EXPECT_FALSE(Region(keys.local).is_awaited);

  PostRead(keys.remote, 3, 1);
  ExpectEvent(Kind::kAwaited, keys.local);
  EXPECT_TRUE(Region(keys.local).is_awaited);
  EXPECT_FALSE(SoonCompleted());
  EXPECT_EQ(arena_->arena->resident_bytes(), 0U) << "it waits, and brings nothing back";

  Succeed(control().SwapInRegion(keys.local));
  ExpectCompleted(1);
  EXPECT_TRUE(NodeHolds(0, 7));
  EXPECT_EQ(Region(keys.local).state, QuiesceState::kInUse);
  EXPECT_EQ(node_.adapter().Query(qa_)->counters.timeouts, 0U);
}

TEST_F(QuiesceThreads, WorkOfTheProgramWaitsAndGoesOnInOrder) {
  const auto keys = Register();
  Take(keys.local);
  for (uint64_t id = 1; id <= 3; ++id) PostWriteFrom(keys.local, id, id);
  EXPECT_FALSE(SoonCompleted());
  ExpectEvent(Kind::kAwaited, keys.local);
  Succeed(control().SwapInRegion(keys.local, true));
  for (uint64_t id = 1; id <= 3; ++id) {
    ExpectCompleted(id);
    EXPECT_TRUE(NodeHolds(id, 7));
  }
}

TEST_F(QuiesceThreads, BringFetchesWhatFits) {
  const auto keys = Register();
  Take(keys.local);
  Succeed(control().SwapInRegion(keys.local, true));
  for (const Time end = Now() + kPatience; Region(keys.local).resident < kBytes && Now() < end;) {
  }
  EXPECT_EQ(Region(keys.local).resident, kBytes);
}

TEST_F(QuiesceThreads, AStrictRegionRefusesByCheckA) {
  const auto keys = Register({.refuses_when_out = true});
  Take(keys.local);
  PostRead(keys.remote, 3, 1);
  const auto completion = node_.Wait();
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->status, CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(completion->vendor_error, static_cast<uint32_t>('a'));
  EXPECT_FALSE(Region(keys.local).is_awaited);
}

TEST_F(QuiesceThreads, APartOfAStrictRegionRefuses) {
  const auto keys = Register({.has_word = true, .refuses_when_out = true});
  Take(keys.local, Range{.offset = 0, .length = 8 * kPage});
  EXPECT_EQ(CurrentIo(*control().FindWord(keys.local)).Begin(), CurrentIo::BeginResult::kQuiesced);
  PostRead(keys.remote, 20, 1);
  ExpectCompleted(1);
  PostRead(keys.remote, 3, 2);
  ExpectCompleted(2, CompletionStatus::kRemoteAccessError);
}

TEST_F(QuiesceThreads, TheOtherPartOfARegionGoesOn) {
  const auto keys = Register();
  Take(keys.local, Range{.offset = 8 * kPage, .length = 8 * kPage});
  EXPECT_EQ(Region(keys.local).swapped, 8 * kPage);
  for (const uint64_t page : {0U, 7U, 16U, 63U}) {
    PostRead(keys.remote, page, page);
    ExpectCompleted(page);
  }
  PostRead(keys.remote, 8, 8);
  ExpectEvent(Kind::kAwaited, keys.local);
  EXPECT_FALSE(SoonCompleted());
  Succeed(control().SwapInRegion(keys.local));
  ExpectCompleted(8);
  EXPECT_TRUE(NodeHolds(0, 7));
}

TEST_F(QuiesceThreads, AnAccessAcrossTheBorderOfAPartWaits) {
  const auto keys = Register();
  Take(keys.local, Range{.offset = 8 * kPage, .length = 8 * kPage});
  const RemoteAddress at{arena_->cpu_base + 6 * kPage, keys.remote};
  Post(node_, qa_, MakeSend(SendOpcode::kWrite, 1, at), node_.Bytes(0, 12 * kPage));
  ExpectEvent(Kind::kAwaited, keys.local);
  EXPECT_FALSE(SoonCompleted());
  Succeed(control().SwapInRegion(keys.local));
  ExpectCompleted(1);
}

// With a pager that has not yet done anything about it.
TEST_F(QuiesceThreads, NothingIsTouchedFromWhenItIsOut) {
  managed::ArenaOptions options{.size = kBytes, .budget = kBytes};
  options.swap = testing::TempDir();
  options.has_thread = false;
  arena_ = *node_.adapter().MakeArena(options);
  const auto keys = Register();
  const auto is_read = [&](uint64_t id) {
    const auto completion = node_.Wait(nullptr, Milliseconds(1));
    return completion && completion->id == WrId(id);
  };
  PostRead(keys.remote, 3, 1);
  while (!is_read(1)) arena_->arena->RunOnce();
  ASSERT_EQ(*control().QuiesceRegion(keys.local, Range{0, 8 * kPage}, kPatience),
            QuiesceState::kQuiet);
  Succeed(control().SwapOutRegion(keys.local));
  PostRead(keys.remote, 3, 2);
  EXPECT_FALSE(SoonCompleted());
  Succeed(control().SwapInRegion(keys.local));
  while (!is_read(2)) arena_->arena->RunOnce();
}

TEST_F(QuiesceThreads, ARegionOnTheSameBytesWaitsToo) {
  const auto keys = Register();
  const auto shared = *node_.adapter().RegisterRegion(Spec(), memory::SharedBacking{keys.local});
  Take(keys.local);
  PostRead(shared.remote, 5, 1);
  ExpectEvent(Kind::kAwaited, keys.local);
  EXPECT_FALSE(SoonCompleted());
  Succeed(control().SwapInRegion(keys.local));
  ExpectCompleted(1);
}

TEST_F(QuiesceThreads, AWindowWaitsAndWorksAgainWithNothingDoneToIt) {
  const auto keys = Register();
  const Key window = *node_.adapter().AllocateWindow(node_.pd(), WindowType::k1);
  const KeyVariant variant(static_cast<uint8_t>(window.variant().value() + 1));
  const queue::WindowBind bind{.window = window,
                               .region = keys.local,
                               .start = arena_->cpu_base,
                               .length = kBytes,
                               .variant = variant,
                               .rights = Access::kRemoteRead};
  EXPECT_TRUE(node_.adapter().PostSend(qb_, {.wqe = MakeSend(SendOpcode::kBindWindow, 9, bind)}));
  ExpectCompleted(9);
  const Key bound(window.index(), variant);
  Take(keys.local);
  PostRead(bound, 3, 1);
  ExpectEvent(Kind::kAwaited, keys.local);
  EXPECT_FALSE(SoonCompleted());
  Succeed(control().SwapInRegion(keys.local));
  ExpectCompleted(1);
  PostRead(bound, 4, 2);
  ExpectCompleted(2);
}

TEST_F(QuiesceThreads, WithoutAWordItIsQuietWhenNoPostedWorkNamesIt) {
  const auto keys = Register();
  const auto other = Register();
  Take(other.local);
  // The work names the first region and waits for the second.
  const Sge from{arena_->cpu_base, static_cast<uint32_t>(kPage), keys.local};
  const RemoteAddress to{arena_->cpu_base + kPage, other.remote};
  Post(node_, qa_, MakeSend(SendOpcode::kWrite, 1, to), from);
  EXPECT_EQ(*control().QuiesceRegion(keys.local, {}, kPatience), QuiesceState::kQuiescing);
  EXPECT_FALSE(control().SwapOutRegion(keys.local));
  EXPECT_LT(control().next_time(), Now() + Seconds(1));
  ExpectEvent(Kind::kAwaited, other.local);
  Succeed(control().SwapInRegion(other.local));
  ExpectCompleted(1);
  ExpectEvent(Kind::kQuiet, keys.local);
  Succeed(control().SwapOutRegion(keys.local));
  ExpectEvent(Kind::kSwappedOut, keys.local);
}

TEST_F(QuiesceThreads, TheCountOfTheProgramDecides) {
  const auto keys = Register({.has_word = true});
  CurrentIo io(*control().FindWord(keys.local));
  ASSERT_EQ(io.Begin(3), CurrentIo::BeginResult::kStarted);
  EXPECT_EQ(*control().QuiesceRegion(keys.local, {}, kPatience), QuiesceState::kQuiescing);
  EXPECT_EQ(io.Begin(), CurrentIo::BeginResult::kQuiesced);
  EXPECT_EQ(io.End(2), CurrentIo::EndResult::kMore);
  EXPECT_FALSE(control().SwapOutRegion(keys.local)) << "nothing is posted, and one is to come";
  EXPECT_EQ(io.End(), CurrentIo::EndResult::kLastWhileQuiesced);
  control().OnQuiesced(keys.local);
  ExpectEvent(Kind::kQuiet, keys.local);
  Succeed(control().SwapOutRegion(keys.local));
  ExpectEvent(Kind::kSwappedOut, keys.local);
  EXPECT_FALSE(control().WaitUntilResumed(keys.local, Milliseconds(1)));
  ExpectEvent(Kind::kAwaited, keys.local);
  EXPECT_TRUE(Region(keys.local).is_awaited);

  std::atomic<int> calls = 0;
  EXPECT_TRUE(control().CallWhenResumed(keys.local, [&] { ++calls; }));
  std::thread waiter([&] { EXPECT_TRUE(control().WaitUntilResumed(keys.local, kPatience)); });
  Succeed(control().SwapInRegion(keys.local));
  waiter.join();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(io.Begin(), CurrentIo::BeginResult::kStarted);
  EXPECT_FALSE(control().CallWhenResumed(keys.local, [&] { ++calls; }));
  EXPECT_EQ(calls, 1);
}

TEST_F(QuiesceThreads, ALateCallIsNotBelieved) {
  const auto keys = Register({.has_word = true});
  CurrentIo io(*control().FindWord(keys.local));
  ASSERT_EQ(io.Begin(), CurrentIo::BeginResult::kStarted);
  EXPECT_EQ(*control().QuiesceRegion(keys.local, {}, kPatience), QuiesceState::kQuiescing);
  control().OnQuiesced(keys.local);
  EXPECT_TRUE(control().TakeEvents(Now()).empty());
  EXPECT_EQ(Region(keys.local).state, QuiesceState::kQuiescing);
}

TEST_F(QuiesceThreads, AConsumerThatNeverEndsIsSwappedOutByForce) {
  const auto keys = Register({.has_word = true});
  CurrentIo io(*control().FindWord(keys.local));
  ASSERT_EQ(io.Begin(), CurrentIo::BeginResult::kStarted);
  EXPECT_EQ(*control().QuiesceRegion(keys.local, {}, Milliseconds(1)), QuiesceState::kQuiescing);
  ExpectEvent(Kind::kOverdue, keys.local);
  EXPECT_FALSE(control().SwapOutRegion(keys.local));
  Succeed(control().SwapOutRegion(keys.local, true));
  ExpectEvent(Kind::kSwappedOut, keys.local);
  PostRead(keys.remote, 3, 1);
  EXPECT_FALSE(SoonCompleted()) << "the valid bit holds what the promise did not";
  Succeed(control().SwapInRegion(keys.local));
  ExpectCompleted(1);
}

TEST_F(QuiesceThreads, AfterAPartIsOutTheConsumerGoesOnWithTheRest) {
  const auto keys = Register({.has_word = true});
  CurrentIo io(*control().FindWord(keys.local));
  Take(keys.local, Range{.offset = 0, .length = 8 * kPage});
  EXPECT_EQ(io.Begin(), CurrentIo::BeginResult::kStarted);
  PostRead(keys.remote, 20, 1);
  ExpectCompleted(1);
}

TEST_F(QuiesceThreads, ARegionThatEndsWhileItIsOutEndsTheWait) {
  const auto keys = Register({.has_word = true});
  Take(keys.local);
  PostRead(keys.remote, 3, 1);
  ExpectEvent(Kind::kAwaited, keys.local);
  // In memory for the program, so that the read would be served the moment that it may be.
  EXPECT_EQ(*reinterpret_cast<const volatile uint8_t*>(arena_->cpu_base + 3 * kPage), 7);
  Succeed(node_.adapter().DeregisterRegion(keys.local));
  ExpectEvent(Kind::kEnded, keys.local);
  ExpectCompleted(1, CompletionStatus::kRemoteAccessError);
  EXPECT_FALSE(control().SwapInRegion(keys.local));
}

// A window keeps its region: the call is refused, and the region is out as before.
TEST_F(QuiesceThreads, ARegionThatCannotEndStaysOut) {
  const auto keys = Register();
  const Key window = *node_.adapter().AllocateWindow(node_.pd(), WindowType::k1);
  const KeyVariant variant(static_cast<uint8_t>(window.variant().value() + 1));
  const queue::WindowBind bind{.window = window,
                               .region = keys.local,
                               .start = arena_->cpu_base,
                               .length = kBytes,
                               .variant = variant,
                               .rights = Access::kRemoteRead};
  EXPECT_TRUE(node_.adapter().PostSend(qb_, {.wqe = MakeSend(SendOpcode::kBindWindow, 9, bind)}));
  ExpectCompleted(9);
  Take(keys.local);
  EXPECT_FALSE(node_.adapter().DeregisterRegion(keys.local));
  EXPECT_EQ(Region(keys.local).state, QuiesceState::kOut);
  EXPECT_TRUE(control().TakeEvents(Now()).empty());
}

TEST_F(QuiesceThreads, ARegionThatIsChangedWhileItIsOutIsInUse) {
  const auto keys = Register();
  Take(keys.local);
  memory::RegionSpec spec = Spec();
  spec.keep_keys = true;
  const auto changed = node_.adapter().ReregisterRegion(keys.local, spec, {});
  ASSERT_TRUE(changed) << changed.error().text;
  ExpectEvent(Kind::kEnded, keys.local);
  PostRead(changed->remote, 3, 1);
  ExpectCompleted(1);
}

TEST_F(QuiesceThreads, AMessageOfAnUnreliableConnectionWaits) {
  const auto keys = Register();
  QueuePair& ua = node_.MakeQp(QpType::kUc);
  QueuePair& ub = node_.MakeQp(QpType::kUc);
  Connect(node_, ua, node_, ub);
  Take(keys.local);
  node_.Fill(0, kPage, 5);
  const RemoteAddress at{arena_->cpu_base, keys.remote};
  Post(node_, ua, MakeSend(SendOpcode::kWrite, 1, at), node_.Bytes(0, kPage));
  ExpectCompleted(1);
  ExpectEvent(Kind::kAwaited, keys.local);
  Succeed(control().SwapInRegion(keys.local));
  const auto* const bytes = reinterpret_cast<const std::atomic<uint8_t>*>(arena_->cpu_base);
  const auto arrived = [&] { return bytes[0] == static_cast<uint8_t>(node_.memory()[0]); };
  for (const Time end = Now() + kPatience; !arrived() && Now() < end;) {
    node_.adapter().Progress(node_.cq());
  }
  EXPECT_TRUE(arrived());
}

TEST_F(QuiesceThreads, TheProgramMayTouchItsBytesAllTheTime) {
  const auto keys = Register();
  Take(keys.local);
  auto* const bytes = reinterpret_cast<volatile uint8_t*>(arena_->cpu_base);
  EXPECT_EQ(bytes[5 * kPage], 7);
  bytes[5 * kPage] = 8;
  PostRead(keys.remote, 5, 1);
  EXPECT_FALSE(SoonCompleted()) << "what the program has in memory is out for the adapter";
  Succeed(control().SwapInRegion(keys.local));
  ExpectCompleted(1);
  EXPECT_EQ(node_.memory()[0], std::byte{8});
}

TEST_F(QuiesceThreads, AnAdapterEndsWithARegionOutAndAReadWaiting) {
  const auto keys = Register();
  Take(keys.local);
  PostRead(keys.remote, 3, 1);
  ExpectEvent(Kind::kAwaited, keys.local);
  node_.CloseAdapter();
}

TEST_F(QuiesceThreads, WhatMakesNoSenseIsRefused) {
  const auto keys = Register();
  EXPECT_FALSE(control().QuiesceRegion(node_.keys().local, {}, kPatience)) << "it is native";
  EXPECT_FALSE(control().QuiesceRegion(keys.local, Range{kBytes, 1}, kPatience));
  EXPECT_FALSE(control().QuiesceRegion(keys.local, Range{0, kBytes + 1}, kPatience));
  EXPECT_FALSE(control().QuiesceRegion(keys.local, Range{1, kPage}, kPatience)) << "no whole page";
  EXPECT_FALSE(control().SwapOutRegion(keys.local));
  EXPECT_FALSE(control().SwapInRegion(keys.local));
  Take(keys.local);
  EXPECT_FALSE(control().QuiesceRegion(keys.local, {}, kPatience));
  EXPECT_FALSE(control().SwapOutRegion(keys.local, true));
}

}  // namespace
}  // namespace verbena::adapter
