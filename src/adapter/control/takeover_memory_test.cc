#include "odp/takeover_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "managed/program_memory.h"
#include "managed/uffd_source.h"
#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {
using queue::SendOpcode;

constexpr uint64_t kPage = 4'096, kMebibyte = uint64_t{1} << 20, kBytes = 8 * kMebibyte;

AdapterOptions WithBudget(uint64_t bytes) {
  AdapterOptions options = TestOptions();
  options.memory_budget = bytes;
  options.swap = testing::TempDir();
  return options;
}

// Anonymous memory of a program.
class Mapped {
 public:
  explicit Mapped(uint64_t size, int flags = MAP_PRIVATE)
      : bytes_(static_cast<std::byte*>(
                   mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0)),
               size) {}
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { munmap(bytes_.data(), bytes_.size()); }
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

bool IsTakenOver(std::span<const std::byte> bytes) {
  const auto mapping = managed::FindMapping(reinterpret_cast<uintptr_t>(bytes.data()));
  return mapping && mapping->name.find("verbena-managed") != std::string::npos;
}

// A node whose memory is eight times the budget.
class TakeoverMemoryThreads : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto source = managed::OpenForSystemCalls(); !source)
      GTEST_SKIP() << source.error().text;
  }

  ErrorOr<memory::RegionKeys> Register(std::span<std::byte> bytes) {
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    return node_.adapter().RegisterRegion({.pd = node_.pd(),
                                           .start = KeyAddress(address),
                                           .length = bytes.size(),
                                           .rights = Access::kAll},
                                          memory::LinearBacking{memory::PhysicalAddress(address)});
  }
  void Deregister(const memory::RegionKeys& keys) {
    Succeed(node_.adapter().DeregisterRegion(keys.local));
  }
  BudgetCounters counters() { return node_.adapter().Query()->budget; }
  std::string Notes() {
    std::string all;
    for (const std::string& warning : node_.adapter().TakeWarnings()) all += warning + "\n";
    return all;
  }
  void ExpectNative(std::span<std::byte> bytes, const std::string& why) {
    const uint64_t before = counters().regions_native;
    const auto keys = Register(bytes);
    ASSERT_TRUE(keys) << keys.error().text;
    EXPECT_FALSE(IsTakenOver(bytes)) << why;
    EXPECT_EQ(counters().regions_native, before + 1);
    EXPECT_NE(Notes().find(why), std::string::npos) << why;
    Deregister(*keys);
  }
  // Moves bytes from one half of the node's memory to the other, through a peer in the same node.
  CompletionStatus Move(uint64_t from, uint64_t to, uint64_t length) {
    Post(node_, qa_, MakeSend(SendOpcode::kWrite, 1, node_.Remote(to)), node_.Bytes(from, length));
    const auto completion = node_.Wait();
    return completion ? completion->status : CompletionStatus::kGeneralError;
  }
  void Connect() { adapter::Connect(node_, qa_, node_, qb_, {.timeout = 18}); }

  TestNode node_{"127.0.0.1", kBytes, WithBudget(kMebibyte)};
  QueuePair& qa_ = node_.MakeQp(QpType::kRc);
  QueuePair& qb_ = node_.MakeQp(QpType::kRc);
};

TEST_F(TakeoverMemoryThreads, RegisteredMemoryIsUnderTheBudgetAndReadsBackUnchanged) {
  Connect();
  EXPECT_TRUE(IsTakenOver(node_.memory()));
  for (uint64_t at = 0; at < kBytes / 2; at += kPage) {
    node_.Fill(at, kPage, static_cast<uint8_t>(at / kPage));
  }
  constexpr uint64_t kMessage = 64 * kPage;
  for (uint64_t at = 0; at < kBytes / 2; at += kMessage) {
    ASSERT_EQ(Move(at, kBytes / 2 + at, kMessage), CompletionStatus::kSuccess);
  }
  const BudgetCounters during = counters();
  EXPECT_EQ(during.regions_taken_over, 1U);
  EXPECT_EQ(during.bytes_taken_over, kBytes);
  EXPECT_GT(during.pages_written, 0U);
  EXPECT_GT(during.pages_read, 0U);
  EXPECT_GT(during.program_faults, 0U);
  EXPECT_GT(during.resident_peak, 0U);
  EXPECT_LE(during.resident_peak, kMebibyte);
  Deregister(node_.keys());
  EXPECT_FALSE(IsTakenOver(node_.memory()));
  for (uint64_t at = 0; at < kBytes / 2; at += kPage) {
    ASSERT_TRUE(node_.Holds(kBytes / 2 + at, kPage, static_cast<uint8_t>(at / kPage))) << at;
  }
  EXPECT_GE(counters().pages_written, during.pages_written) << "what is past counts";
}

TEST_F(TakeoverMemoryThreads, ThreadsKeepWritingDuringRegistration) {
  std::atomic<bool> stops = false;
  std::atomic<uint64_t> writes = 0;
  const Mapped memory(4 * kMebibyte);
  std::thread program([&] {
    for (uint64_t i = 0; !stops; ++i) {
      auto* const word =
          reinterpret_cast<uint64_t*>(memory.bytes().data() + i * kPage % memory.bytes().size());
      ++*word;
      ++writes;
    }
  });
  for (int i = 0; i < 5; ++i) Deregister(*Register(memory.bytes()));
  stops = true;
  program.join();
  uint64_t sum = 0;
  for (uint64_t at = 0; at < memory.bytes().size(); at += kPage) {
    sum += *reinterpret_cast<uint64_t*>(memory.bytes().data() + at);
  }
  EXPECT_EQ(sum, writes);
}

TEST_F(TakeoverMemoryThreads, DeregisteringTheLastRegionReturnsTheMemory) {
  const auto part = *Register(node_.memory().subspan(100, 5000));
  Deregister(node_.keys());
  EXPECT_TRUE(IsTakenOver(node_.memory()));
  Deregister(part);
  EXPECT_FALSE(IsTakenOver(node_.memory()));
}

TEST_F(TakeoverMemoryThreads, ClosingTheAdapterReturnsTheMemory) {
  node_.Fill(0, kBytes, 3);
  node_.CloseAdapter();
  EXPECT_FALSE(IsTakenOver(node_.memory()));
  EXPECT_TRUE(node_.Holds(0, kBytes, 3));
}

TEST_F(TakeoverMemoryThreads, TheBudgetIsDividedBySize) {
  const Mapped memory(kBytes);
  node_.Fill(0, kBytes, 3);
  for (std::byte& byte : memory.bytes()) byte = std::byte{7};
  const auto keys = *Register(memory.bytes());
  EXPECT_TRUE(IsTakenOver(memory.bytes()));
  EXPECT_TRUE(node_.Holds(0, kBytes, 3));
  for (const std::byte byte : memory.bytes()) ASSERT_EQ(byte, std::byte{7});
  EXPECT_LE(counters().resident_peak, kMebibyte) << "both together";
  Deregister(keys);
}

TEST_F(TakeoverMemoryThreads, MemoryThatCannotBeTakenOverStaysNativeWithAWarning) {
  EXPECT_EQ(Notes().find("budget"), std::string::npos);
  ExpectNative(Mapped(kMebibyte, MAP_SHARED).bytes(), "shared");
  const Mapped memory(kMebibyte);
  ExpectNative(memory.bytes().first(16 * kPage), "smaller than 256 KiB");
  ExpectNative(memory.bytes().subspan(8), "inside a page");
  Deregister(*Register(memory.bytes().subspan(8)));
  EXPECT_EQ(Notes(), "") << "once for each reason";
}

TEST_F(TakeoverMemoryThreads, BytesOfANativeRegionStayNative) {
  const Mapped memory(2 * kMebibyte);
  const auto small = *Register(memory.bytes().subspan(kMebibyte, kPage));
  ExpectNative(memory.bytes(), "some of the same bytes");
  Deregister(small);
  Deregister(*Register(memory.bytes()));
  EXPECT_EQ(counters().regions_taken_over, 2U) << "the node's and this one";
}

TEST_F(TakeoverMemoryThreads, ALargerRangeAroundTakenOverMemoryIsRefused) {
  const Mapped memory(2 * kMebibyte);
  const auto keys = *Register(memory.bytes().first(kMebibyte));
  const auto more = Register(memory.bytes());
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kLimit);
  EXPECT_NE(more.error().text.find("register the larger range first"), std::string::npos);
  Deregister(keys);
  Deregister(*Register(memory.bytes()));
}

TEST_F(TakeoverMemoryThreads, ASmallBudgetLimitsTheNumberOfRegions) {
  // The budget has 256 pages: 16 for each of 16 regions.
  const Mapped memory(32 * kMebibyte);
  std::vector<memory::RegionKeys> keys;
  for (uint64_t i = 0; i < 16; ++i) {
    keys.push_back(*Register(memory.bytes().subspan(i * 2 * kMebibyte, kMebibyte)));
  }
  EXPECT_EQ(counters().regions_taken_over, 16U);
  const Mapped shared(kMebibyte, MAP_SHARED);
  keys.push_back(*Register(shared.bytes()));
  const std::string warnings = Notes();
  EXPECT_NE(warnings.find("too small for one more"), std::string::npos);
  EXPECT_EQ(warnings.find("shared"), std::string::npos) << "it is not looked at any more";
  for (const memory::RegionKeys& each : keys) Deregister(each);
}

TEST_F(TakeoverMemoryThreads, UnmappedMemoryIsAnAccessError) {
  Connect();
  node_.Fill(0, kBytes, 1);
  node_.Unmap(kMebibyte, kMebibyte);
  EXPECT_EQ(Move(0, kMebibyte + kPage, kPage), CompletionStatus::kRemoteAccessError);
}

// An unreliable message is lost if a page is absent. A program that runs without a budget must also
// run with one that its memory fits into.
TEST_F(TakeoverMemoryThreads, MemoryWithinTheBudgetIsPresentForUnreliableMessages) {
  TestNode node("127.0.0.1", kMebibyte / 2, WithBudget(kMebibyte));
  EXPECT_TRUE(IsTakenOver(node.memory()));
  node.Fill(0, kMebibyte / 2, 1);
  Succeed(node.adapter().DeregisterRegion(node.keys().local));
  const auto keys = *node.Register(Access::kAll);
  QueuePair& a = node.MakeQp(QpType::kUc);
  QueuePair& b = node.MakeQp(QpType::kUc);
  adapter::Connect(node, a, node, b);
  usleep(100'000);  // until the pages are present
  const RemoteAddress remote{node.AddressOf(kMebibyte / 4), keys.remote};
  Post(node, a, MakeSend(SendOpcode::kWrite, 1, remote),
       {node.AddressOf(0), static_cast<uint32_t>(kMebibyte / 4), keys.local});
  ASSERT_EQ(node.Wait()->status, CompletionStatus::kSuccess);
  for (const Time end = Now() + Seconds(5); !node.Holds(kMebibyte / 4, kMebibyte / 4, 1);) {
    ASSERT_LT(Now(), end);
    static_cast<void>(node.Wait(nullptr, Milliseconds(1)));
  }
  EXPECT_EQ(node.adapter().Query(b)->counters.dropped_pages_absent, 0U);
}

TEST_F(TakeoverMemoryThreads, AdviceCanPageInTheWholeBudget) {
  const Range all{0, kMebibyte};
  Succeed(node_.adapter().Advise(node_.keys().local, {&all, 1}, Advice::kPrefetchWrite, true));
}

TEST_F(TakeoverMemoryThreads, TakenOverRegionsCanBeReregistered) {
  const Mapped memory(kMebibyte);
  const auto address = reinterpret_cast<uintptr_t>(memory.bytes().data());
  const auto keys = node_.adapter().ReregisterRegion(
      node_.keys().local,
      {.pd = node_.pd(), .start = KeyAddress(address), .length = kMebibyte, .rights = Access::kAll},
      memory::LinearBacking{memory::PhysicalAddress(address)});
  ASSERT_TRUE(keys) << keys.error().text;
  EXPECT_TRUE(IsTakenOver(memory.bytes()));
  EXPECT_FALSE(IsTakenOver(node_.memory()));
  const auto shared = node_.adapter().RegisterRegion(
      {.pd = node_.pd(), .start = KeyAddress(address), .length = kMebibyte, .rights = Access::kAll},
      memory::SharedBacking{keys->local});
  ASSERT_TRUE(shared) << shared.error().text;
  Deregister(*keys);
  EXPECT_TRUE(IsTakenOver(memory.bytes())) << "one shares it";
  Deregister(*shared);
  EXPECT_FALSE(IsTakenOver(memory.bytes()));
}

TEST(TakeoverMemoryOptionsTest, RefusesATooSmallBudgetAndPinnedMemory) {
  AdapterOptions options = WithBudget(kMebibyte - 1);
  EXPECT_EQ(Adapter::Open(options).error().code, ErrorCode::kInvalid);
  options.memory_budget = kMebibyte;
  options.pin = true;
  EXPECT_EQ(Adapter::Open(options).error().code, ErrorCode::kInvalid);
}

TEST(TakeoverMemoryOptionsTest, AStrictBudgetThatCannotBeKeptIsAnError) {
  AdapterOptions options = WithBudget(kMebibyte);
  options.memory_budget_strict = true;
  options.swap = "/no/such/folder/swap";
  const auto opened = Adapter::Open(options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kSystem);
  EXPECT_NE(opened.error().text.find("cannot be kept"), std::string::npos) << opened.error().text;
}

// proc has neither free space nor permits a file: the free space is checked first.
TEST(TakeoverMemoryOptionsTest, ADiskWithoutRoomLeavesMemoryNative) {
  AdapterOptions options = WithBudget(kMebibyte);
  options.swap = "/proc/self";
  TestNode node("127.0.0.1", 2 * kMebibyte, options);
  EXPECT_FALSE(IsTakenOver(node.memory()));
  const auto warnings = node.adapter().TakeWarnings();
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings.back().find("/proc/self has room for 0 bytes, but "), std::string::npos)
      << warnings.back();
}

TEST(TakeoverMemoryOptionsTest, AMissingSwapDirectoryLeavesMemoryNative) {
  AdapterOptions options = WithBudget(kMebibyte);
  options.swap = "/no/such/folder/swap";
  TestNode node("127.0.0.1", kBytes, options);
  EXPECT_FALSE(IsTakenOver(node.memory()));
  const auto warnings = node.adapter().TakeWarnings();
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings.back().find("not under the memory budget"), std::string::npos);
}

}  // namespace
}  // namespace verbena::adapter
