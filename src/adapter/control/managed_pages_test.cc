#include "odp/managed_pages.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"
#include "tests/support/troubled_swap_file.h"

namespace verbena::adapter {
namespace {
using queue::SendOpcode;

constexpr uint64_t kPage = 4'096, kPages = 256;

// A peer that reads and writes managed memory by page number, with a swap file that a test may
// damage.
class ManagedPagesTest : public testing::Test {
 protected:
  ManagedPagesTest() {
    arena_ = *node_.adapter().MakeArena(TroubledOptions());
    keys_ = *Register(arena_->cpu_base, arena_->size);
    Connect(node_, qa_, node_, qb_, {.timeout = 18});  // a second, for busy machines
  }

  managed::ArenaOptions TroubledOptions() const {
    managed::ArenaOptions options{.size = kPages * kPage, .budget = 64 * kPage};
    options.swap = testing::TempDir();
    options.compress = false;
    options.paging.patience = Milliseconds(50);
    options.paging.retry_first = options.paging.retry_max = Milliseconds(1);
    options.wrap_swap_file = [this](std::unique_ptr<managed::SwapFile> file) {
      return std::make_unique<managed::TroubledSwapFile>(std::move(file), trouble_);
    };
    return options;
  }

  ErrorOr<memory::RegionKeys> Register(uint64_t address, uint64_t length) {
    return node_.adapter().RegisterRegion(
        {.pd = node_.pd(), .start = KeyAddress(address), .length = length, .rights = Access::kAll},
        memory::LinearBacking{memory::PhysicalAddress(address)});
  }
  CompletionStatus Move(SendOpcode opcode, uint64_t page) {
    const RemoteAddress remote{arena_->cpu_base + page * kPage, keys_.remote};
    Post(node_, qa_, MakeSend(opcode, 1, remote), node_.Bytes(0, kPage));
    const auto completion = node_.Wait();
    return completion ? completion->status : CompletionStatus::kGeneralError;
  }
  void FillAll() {
    for (uint64_t page = 0; page < kPages; ++page) {
      node_.Fill(0, kPage, static_cast<uint8_t>(page));
      ASSERT_EQ(Move(SendOpcode::kWrite, page), CompletionStatus::kSuccess);
    }
  }
  bool HasNote(const char* words) {
    for (const std::string& warning : node_.adapter().TakeWarnings()) {
      if (warning.find(words) != std::string::npos) return true;
    }
    return false;
  }

  const std::shared_ptr<managed::SwapTrouble> trouble_ = std::make_shared<managed::SwapTrouble>();
  TestNode node_{"127.0.0.1"};
  odp::ManagedArena* arena_ = nullptr;
  memory::RegionKeys keys_;
  QueuePair& qa_ = node_.MakeQp(QpType::kRc);
  QueuePair& qb_ = node_.MakeQp(QpType::kRc);
};

TEST_F(ManagedPagesTest, EvictedPagesReadBackAsWritten) {
  FillAll();
  for (uint64_t page = 0; page < kPages; ++page) {
    ASSERT_EQ(Move(SendOpcode::kRead, page), CompletionStatus::kSuccess);
    ASSERT_TRUE(node_.Holds(0, kPage, static_cast<uint8_t>(page))) << page;
  }
  EXPECT_EQ(node_.adapter().Query(qa_)->counters.timeouts, 0U);
}

// Rows E7, E11: the first stage is filled by the adapter, a leaf at a time; a page that another
// region has brought into memory needs no second fault.
TEST_F(ManagedPagesTest, FaultsAreCountedByStage) {
  const auto counters = [&] { return node_.adapter().Query()->budget; };
  const auto same_bytes = *Register(arena_->cpu_base, arena_->size);
  ASSERT_EQ(Move(SendOpcode::kWrite, 3), CompletionStatus::kSuccess);
  EXPECT_EQ(counters().first_stage_faults, 1U);
  EXPECT_EQ(counters().second_stage_faults, 1U);
  EXPECT_EQ(counters().first_stage_present, 0U);
  ASSERT_EQ(Move(SendOpcode::kWrite, 90), CompletionStatus::kSuccess);
  EXPECT_EQ(counters().first_stage_faults, 1U) << "the first stage has all of the leaf";
  EXPECT_EQ(counters().second_stage_faults, 2U);
  keys_ = same_bytes;
  ASSERT_EQ(Move(SendOpcode::kRead, 90), CompletionStatus::kSuccess);
  EXPECT_EQ(counters().first_stage_faults, 2U);
  EXPECT_EQ(counters().second_stage_faults, 2U) << "the page was there";
  EXPECT_EQ(counters().first_stage_present, 1U);
}

// Row A7: the segment table of the process follows its managed memory.
TEST_F(ManagedPagesTest, TheImplicitRegionReachesManagedMemory) {
  const auto implicit = node_.adapter().RegisterRegion(
      {.pd = node_.pd(), .start = KeyAddress(0), .length = UINT64_MAX, .rights = Access::kAll},
      memory::AddressSpaceBacking{});
  ASSERT_TRUE(implicit) << implicit.error().text;
  const memory::RegionKeys linear = keys_;
  keys_ = *implicit;
  FillAll();
  keys_ = linear;
  for (uint64_t page = 0; page < kPages; ++page) {
    ASSERT_EQ(Move(SendOpcode::kRead, page), CompletionStatus::kSuccess);
    ASSERT_TRUE(node_.Holds(0, kPage, static_cast<uint8_t>(page))) << page;
  }
  EXPECT_LE(arena_->arena->resident_bytes(), 64 * kPage);
  // Its own memory, which is native, too.
  const RemoteAddress native{node_.AddressOf(kPage), implicit->remote};
  Post(node_, qa_, MakeSend(SendOpcode::kRead, 1, native), node_.Bytes(0, kPage));
  const auto completion = node_.Wait();
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
}

TEST_F(ManagedPagesTest, TheImplicitRegionDoesNotReachManagedMemoryThatIsGone) {
  const auto implicit = node_.adapter().RegisterRegion(
      {.pd = node_.pd(), .start = KeyAddress(0), .length = UINT64_MAX, .rights = Access::kAll},
      memory::AddressSpaceBacking{});
  ASSERT_TRUE(implicit);
  ASSERT_EQ(Move(SendOpcode::kWrite, 3), CompletionStatus::kSuccess);
  const uint64_t address = arena_->cpu_base;
  Succeed(node_.adapter().DeregisterRegion(keys_.local));
  Succeed(node_.adapter().Destroy(arena_));
  keys_ = *implicit;
  const RemoteAddress remote{address + 3 * kPage, keys_.remote};
  Post(node_, qa_, MakeSend(SendOpcode::kRead, 1, remote), node_.Bytes(0, kPage));
  const auto completion = node_.Wait();
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->status, CompletionStatus::kRemoteAccessError);
}

// Row E9: a page that leaves is one entry of the second stage, and no region keeps it.
TEST_F(ManagedPagesTest, APageLeavesForAllRegionsAtOnce) {
  const auto same_bytes = *Register(arena_->cpu_base, arena_->size);
  for (const memory::RegionKeys& keys : {keys_, same_bytes}) {
    keys_ = keys;
    ASSERT_EQ(Move(SendOpcode::kWrite, 3), CompletionStatus::kSuccess);
  }
  const uint64_t before = node_.adapter().Query()->budget.second_stage_faults;
  for (uint64_t page = 64; page < kPages; ++page) {
    ASSERT_EQ(Move(SendOpcode::kWrite, page), CompletionStatus::kSuccess);
  }
  ASSERT_NE(arena_->arena->residency(3 * kPage), managed::Residency::kInMemory);
  EXPECT_EQ(Move(SendOpcode::kRead, 3), CompletionStatus::kSuccess);
  EXPECT_GE(node_.adapter().Query()->budget.second_stage_faults, before + kPages - 64 + 1);
}

TEST_F(ManagedPagesTest, ACorruptPageIsAnAccessError) {
  FillAll();
  trouble_->lying_reads = 1'000'000;
  uint64_t page = 0;
  while (arena_->arena->residency(page * kPage) != managed::Residency::kSwapped) ++page;
  EXPECT_EQ(Move(SendOpcode::kRead, page), CompletionStatus::kRemoteAccessError);
  // The pager reports it at the end of its step.
  const auto is_lost = [&] {
    return arena_->arena->residency(page * kPage) == managed::Residency::kBroken;
  };
  for (const Time end = Now() + Seconds(5); !is_lost() && Now() < end;) {
  }
  EXPECT_TRUE(is_lost());
}

TEST_F(ManagedPagesTest, AFullStoreIsAnAccessErrorWithAWarning) {
  trouble_->is_full = true;
  CompletionStatus status = CompletionStatus::kSuccess;
  uint64_t page = 0;
  for (; page < kPages && status == CompletionStatus::kSuccess; ++page) {
    node_.Fill(0, kPage, static_cast<uint8_t>(page));
    status = Move(SendOpcode::kWrite, page);
  }
  EXPECT_EQ(status, CompletionStatus::kRemoteAccessError);
  EXPECT_TRUE(HasNote("cannot grow"));
  // Everything that was written is intact.
  for (uint64_t i = 0; i + 1 < page; ++i) {
    EXPECT_EQ(reinterpret_cast<const uint8_t*>(arena_->cpu_base)[i * kPage], uint8_t(i)) << i;
  }
  trouble_->is_full = false;
}

// The thread that would take the warnings may be the one that is blocked.
TEST_F(ManagedPagesTest, AFullStoreIsReportedWhileTheProgramIsBlocked) {
  static std::atomic<bool> is_reported = false;  // a function pointer has no captures
  is_reported = false;
  AdapterOptions options = TestOptions();
  options.on_urgent_warning = [](const std::string& warning) {
    if (warning.find("cannot grow") != std::string::npos) is_reported = true;
  };
  TestNode node("127.0.0.1", kPage, options);
  odp::ManagedArena* const arena = *node.adapter().MakeArena(TroubledOptions());
  trouble_->is_full = true;
  std::thread program(
      [arena] { std::memset(reinterpret_cast<void*>(arena->cpu_base), 1, arena->size); });
  for (const Time end = Now() + Seconds(10); !is_reported && Now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(is_reported);
  trouble_->is_full = false;
  program.join();
}

TEST_F(ManagedPagesTest, AnArenaIsInUseUntilItsRegionsAreDeregistered) {
  EXPECT_EQ(arena_->regions, 1U);
  const auto second = *Register(arena_->cpu_base + 17, kPage);
  EXPECT_EQ(arena_->regions, 2U);
  Succeed(node_.adapter().DeregisterRegion(second.local));
  EXPECT_EQ(node_.adapter().Destroy(arena_).error().code, ErrorCode::kInUse);
  Succeed(node_.adapter().DeregisterRegion(keys_.local));
  Succeed(node_.adapter().Destroy(arena_));
}

TEST_F(ManagedPagesTest, ARegionAcrossManagedAndOtherMemoryIsRefused) {
  EXPECT_EQ(Register(arena_->cpu_base - 1, 2).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(Register(arena_->cpu_base + arena_->size - 1, 2).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(Register(arena_->cpu_base + arena_->size - 1, 1).has_value());
}

// The adapter ends while pages are being paged in, and while the program still has regions.
TEST_F(ManagedPagesTest, TheAdapterClosesWhilePagesArePagedIn) {
  FillAll();
  trouble_->delay_us = 20'000;
  for (uint64_t page = 0; page < 8; ++page) {
    const RemoteAddress remote{arena_->cpu_base + page * kPage, keys_.remote};
    Post(node_, qa_, MakeSend(SendOpcode::kRead, 1, remote), node_.Bytes(page * kPage, kPage));
  }
  node_.CloseAdapter();
}

// A list of one page, by call and by work request: a copy to the program's mapping could wait for
// the arena, which waits for the copying thread.
class ManagedListTest : public ManagedPagesTest {
 protected:
  ErrorOr<memory::RegionKeys> RegisterByCall(uint64_t page) {
    const std::array pages{memory::PhysicalAddress(page)};
    return node_.adapter().RegisterRegion(
        {.pd = node_.pd(), .start = {}, .length = kPage, .rights = Access::kAll},
        memory::PageListBacking{.pages = pages});
  }
  CompletionStatus RegisterByWork(uint64_t page) {
    QpInit spec = node_.Spec(QpType::kRc);
    spec.registration = RegistrationMode::kAnticipatory;
    QueuePair& qp = **node_.adapter().CreateQp(spec);
    Connect(node_, qp, node_, node_.MakeQp(QpType::kRc));
    const Key key = node_.adapter().ReserveRegion(node_.pd(), 1, PageShift(12))->local;
    const queue::SendWqe wqe =
        MakeSend(SendOpcode::kRegister, 2,
                 queue::RegistrationOperand{
                     .key = key, .rights = Access::kAll, .page_shift = 12, .length = kPage});
    EXPECT_TRUE(node_.adapter().PostSend(qp, {.wqe = wqe, .pages = {&page, 1}}).has_value());
    const auto completion = node_.Wait();
    return completion ? completion->status : CompletionStatus::kGeneralError;
  }
};

TEST_F(ManagedListTest, APageListOfManagedMemoryIsRefused) {
  const std::array views{arena_->cpu_base, arena_->adapter_base};
  for (const uint64_t view : views) {
    const auto called = RegisterByCall(view + kPage);
    ASSERT_FALSE(called.has_value());
    EXPECT_EQ(called.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(RegisterByWork(view + kPage), CompletionStatus::kLocalQpOperationError);
  }
  EXPECT_TRUE(RegisterByCall(node_.AddressOf(0)).has_value());
  EXPECT_EQ(RegisterByWork(node_.AddressOf(0)), CompletionStatus::kSuccess);
  Succeed(node_.adapter().DeregisterRegion(keys_.local));
  Succeed(node_.adapter().Destroy(arena_));
  for (const uint64_t view : views) {
    EXPECT_EQ(RegisterByWork(view), CompletionStatus::kSuccess) << "it is managed no more";
  }
}

}  // namespace
}  // namespace verbena::adapter
