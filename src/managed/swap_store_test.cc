#include "managed/swap_store.h"

#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/troubled_swap_file.h"

namespace verbena::managed {
namespace {

constexpr uint64_t kGranules = 64;
constexpr uint64_t kSize = 4096;

using Contents = std::vector<std::byte>;

Contents Noise(uint64_t seed) {
  Random random(seed);
  Contents bytes(kSize);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next32());
  return bytes;
}

Contents Text(uint64_t seed) {
  Contents bytes(kSize);
  for (size_t i = 0; i < kSize; ++i) bytes[i] = static_cast<std::byte>(seed + i / 64);
  return bytes;
}

class SwapStoreTest : public testing::Test {
 protected:
  void Make(const SwapOptions& options) {
    auto file = MakeSwapFile("/tmp", SwapStore::kTransfersMax).value();
    store_ = std::make_unique<SwapStore>(
        std::make_unique<TroubledSwapFile>(std::move(file), trouble_), options);
  }

  static SwapOptions Options() { return {.granule_count = kGranules, .step_bytes = 32768}; }

  void SetUp() override { Make(Options()); }

  // Waits until `count` orders have ended.
  std::map<uint64_t, SwapResult> Await(size_t count) {
    std::map<uint64_t, SwapResult> results;
    store_->Submit();
    while (results.size() < count) {
      std::array<SwapOutcome, 3> outcomes;
      const size_t ended = store_->Reap(outcomes);
      for (size_t i = 0; i < ended; ++i) {
        EXPECT_TRUE(results.emplace(outcomes[i].granule, outcomes[i].result).second);
      }
      if (ended == 0) std::this_thread::yield();
    }
    return results;
  }

  SwapResult Store(uint64_t granule, const Contents& contents) {
    EXPECT_TRUE(store_->Store(granule, contents));
    return Await(1).at(granule);
  }
  SwapResult Load(uint64_t granule) {
    EXPECT_TRUE(store_->Load(granule, loaded_));
    return Await(1).at(granule);
  }

  std::shared_ptr<SwapTrouble> trouble_ = std::make_shared<SwapTrouble>();
  std::unique_ptr<SwapStore> store_;
  Contents loaded_ = Contents(kSize);
};

TEST_F(SwapStoreTest, LoadsWhatWasStored) {
  for (const Contents& contents : {Noise(1), Text(1), Contents(kSize)}) {
    EXPECT_EQ(Store(7, contents), SwapResult::kGood);
    loaded_ = Noise(9);
    EXPECT_EQ(Load(7), SwapResult::kGood);
    EXPECT_EQ(loaded_, contents);
    EXPECT_TRUE(store_->Holds(7)) << "a load keeps the stored copy";
  }
}

TEST_F(SwapStoreTest, WritesNoZerosAndCompresses) {
  EXPECT_EQ(Store(0, Contents(kSize)), SwapResult::kGood);
  EXPECT_EQ(store_->counters().bytes_written, 0u);
  EXPECT_EQ(store_->counters().bytes_reserved, 0u);
  EXPECT_EQ(Store(1, Text(1)), SwapResult::kGood);
  const SwapCounters counters = store_->counters();
  EXPECT_EQ(counters.zero, 1u);
  EXPECT_EQ(counters.compressed, 1u);
  EXPECT_EQ(counters.stored, 2u);
  EXPECT_EQ(counters.bytes_written, counters.bytes_held);
  EXPECT_EQ(counters.bytes_held % 512, 0u);
  EXPECT_LE(counters.bytes_held, kSize / 2);
}

TEST_F(SwapStoreTest, CompressesOnlyOnRequest) {
  SwapOptions options = Options();
  options.compress = false;
  Make(options);
  EXPECT_EQ(Store(1, Text(1)), SwapResult::kGood);
  EXPECT_EQ(store_->counters().bytes_held, kSize);
}

TEST_F(SwapStoreTest, StoresRawWhenThereIsNoStaging) {
  SwapOptions options = Options();
  options.staging_bytes = kSize;
  Make(options);
  const Contents a = Text(1), b = Text(2);
  ASSERT_TRUE(store_->Store(1, a));
  ASSERT_TRUE(store_->Store(2, b));
  Await(2);
  EXPECT_EQ(store_->counters().compressed, 1u);
  EXPECT_EQ(Load(1), SwapResult::kGood);
  EXPECT_EQ(loaded_, a);
  EXPECT_EQ(Load(2), SwapResult::kGood);
  EXPECT_EQ(loaded_, b);
}

TEST_F(SwapStoreTest, AdjacentGranulesShareATransfer) {
  std::vector<Contents> contents;
  for (uint64_t i = 0; i < 16; ++i) contents.push_back(Noise(i));
  for (uint64_t i = 0; i < 16; ++i) ASSERT_TRUE(store_->Store(i, contents[i]));
  Await(16);
  EXPECT_EQ(trouble_->started, 1);
  std::vector<Contents> back(16, Contents(kSize));
  for (uint64_t i = 0; i < 16; ++i) ASSERT_TRUE(store_->Load(i, back[i]));
  Await(16);
  EXPECT_EQ(trouble_->started, 2);
  EXPECT_EQ(back, contents);
}

// The one buffer for all of them is adjacent to itself nowhere, so that each is a part.
TEST_F(SwapStoreTest, TransfersHaveAMaximumOfParts) {
  constexpr uint64_t kCount = Transfer::kPartsMax + 1;
  SwapOptions options = Options();
  options.granule_count = kCount;
  options.compress = false;
  Make(options);
  const Contents noise = Noise(1);
  for (uint64_t i = 0; i < kCount; ++i) ASSERT_TRUE(store_->Store(i, noise));
  Await(kCount);
  EXPECT_EQ(trouble_->started, 2);
}

TEST_F(SwapStoreTest, AdjacentBuffersAreOnePartOfATransferOfHalfAMebibyte) {
  constexpr uint64_t kCount = 129;
  static_assert((kCount - 1) * kSize == 512 << 10);
  SwapOptions options = Options();
  options.granule_count = kCount;
  options.compress = false;
  Make(options);
  Contents all(kCount * kSize), back(all.size());
  Random random(7);
  for (std::byte& byte : all) byte = static_cast<std::byte>(random.Next32());
  for (uint64_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(store_->Store(i, std::span(all).subspan(i * kSize, kSize)));
  }
  Await(kCount);
  EXPECT_EQ(trouble_->started, 2);
  for (uint64_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(store_->Load(i, std::span(back).subspan(i * kSize, kSize)));
  }
  Await(kCount);
  EXPECT_EQ(trouble_->started, 4);
  EXPECT_EQ(back, all);
}

TEST_F(SwapStoreTest, FreedRoomIsUsedAgain) {
  for (uint64_t round = 0; round < 50; ++round) {
    for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(Store(i, Noise(round * 8 + i)), SwapResult::kGood);
  }
  EXPECT_EQ(store_->counters().bytes_held, 8 * kSize);
  EXPECT_LE(store_->counters().bytes_reserved, 16 * kSize);
  for (uint64_t i = 0; i < 8; ++i) store_->Forget(i);
  EXPECT_EQ(store_->counters().bytes_held, 0u);
  EXPECT_FALSE(store_->Holds(3));
}

TEST_F(SwapStoreTest, IsFullAtItsLimitUntilRoomIsFreed) {
  SwapOptions options = Options();
  options.bytes_max = 8 * kSize;
  Make(options);
  for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(Store(i, Noise(i)), SwapResult::kGood);
  EXPECT_EQ(Store(8, Noise(8)), SwapResult::kFull);
  EXPECT_FALSE(store_->Holds(8));
  EXPECT_EQ(Store(9, Contents(kSize)), SwapResult::kGood) << "zeros need no room";
  store_->Forget(0);
  EXPECT_EQ(Store(8, Noise(8)), SwapResult::kGood);
  EXPECT_EQ(store_->counters().full, 1u);
}

TEST_F(SwapStoreTest, ADiskWithoutRoomIsFull) {
  trouble_->is_full = true;
  EXPECT_EQ(Store(1, Noise(1)), SwapResult::kFull);
  trouble_->is_full = false;
  EXPECT_EQ(Store(1, Noise(1)), SwapResult::kGood);
  trouble_->no_room_writes = 1;
  EXPECT_EQ(Store(1, Noise(1)), SwapResult::kFull);
  EXPECT_FALSE(store_->Holds(1)) << "the old copy was stale, the new one was not written";
  EXPECT_EQ(store_->counters().bytes_held, 0u);
}

TEST_F(SwapStoreTest, AFailedWriteLeavesNothingBehind) {
  trouble_->failing_writes = 1;
  EXPECT_EQ(Store(1, Noise(1)), SwapResult::kFailed);
  EXPECT_FALSE(store_->Holds(1));
  EXPECT_EQ(store_->counters().bytes_held, 0u);
}

TEST_F(SwapStoreTest, AFailedReadCanBeRepeated) {
  const Contents noise = Noise(1);
  EXPECT_EQ(Store(1, noise), SwapResult::kGood);
  trouble_->failing_reads = 1;
  EXPECT_EQ(Load(1), SwapResult::kFailed);
  trouble_->short_reads = 1;
  EXPECT_EQ(Load(1), SwapResult::kFailed);
  EXPECT_EQ(Load(1), SwapResult::kGood);
  EXPECT_EQ(loaded_, noise);
  EXPECT_EQ(store_->counters().failed, 2u);
}

TEST_F(SwapStoreTest, ABadSectorCostsOneGranuleOfItsCluster) {
  std::vector<Contents> contents;
  for (uint64_t i = 0; i < 4; ++i) contents.push_back(Noise(i));
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(store_->Store(i, contents[i]));
  Await(4);
  trouble_->failing_reads = 2;  // the joint transfer, and the first of the single ones
  std::vector<Contents> back(4, Contents(kSize));
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(store_->Load(i, back[i]));
  const auto results = Await(4);
  EXPECT_EQ(std::count_if(results.begin(), results.end(),
                          [](const auto& it) { return it.second == SwapResult::kFailed; }),
            1);
  for (const auto& [granule, result] : results) {
    EXPECT_TRUE(result == SwapResult::kFailed || back[granule] == contents[granule]);
  }
}

TEST_F(SwapStoreTest, ChangedBytesAreCorrupt) {
  for (const Contents& contents : {Noise(1), Text(1)}) {
    EXPECT_EQ(Store(1, contents), SwapResult::kGood);
    trouble_->lying_reads = 1;
    EXPECT_EQ(Load(1), SwapResult::kCorrupt);
    EXPECT_EQ(Load(1), SwapResult::kGood);
    EXPECT_EQ(loaded_, contents);
  }
  EXPECT_EQ(store_->counters().corrupt, 2u);
}

TEST_F(SwapStoreTest, ForgettingDuringATransferFreesTheCopyAfterIt) {
  const Contents noise = Noise(1);
  ASSERT_TRUE(store_->Store(1, noise));
  store_->Forget(1);
  EXPECT_EQ(Await(1).at(1), SwapResult::kGood);
  EXPECT_FALSE(store_->Holds(1));
  EXPECT_EQ(store_->counters().bytes_held, 0u);
  EXPECT_EQ(Store(1, noise), SwapResult::kGood);
  ASSERT_TRUE(store_->Load(1, loaded_));
  store_->Forget(1);
  EXPECT_EQ(store_->counters().bytes_held, kSize) << "still being read";
  Await(1);
  EXPECT_EQ(loaded_, noise);
  EXPECT_EQ(store_->counters().bytes_held, 0u);
}

TEST_F(SwapStoreTest, TakesABoundedNumberOfOrders) {
  SwapOptions options = Options();
  options.orders_max = 4;
  Make(options);
  const Contents noise = Noise(1), zero(kSize);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(store_->Store(i, noise));
  EXPECT_TRUE(store_->Store(3, zero));
  EXPECT_FALSE(store_->Store(4, zero)) << "the previous outcome was not taken";
  Await(4);
  EXPECT_TRUE(store_->Store(4, zero));
}

TEST_F(SwapStoreTest, DestructionWaitsForTransfers) {
  Contents noise = Noise(1);
  for (uint64_t i = 0; i < kGranules; ++i) ASSERT_TRUE(store_->Store(i, noise));
  store_->Submit();
  store_.reset();
}

TEST_F(SwapStoreTest, TwoMegabytes) {
  SwapOptions options{.granule = PageShift(21), .granule_count = 4};
  Make(options);
  Contents large(options.granule.bytes()), back(large.size());
  Random random(5);
  for (size_t i = 0; i < large.size() / 2; ++i) large[i] = static_cast<std::byte>(random.Next32());
  ASSERT_TRUE(store_->Store(3, large));
  EXPECT_EQ(Await(1).at(3), SwapResult::kGood);
  EXPECT_EQ(store_->counters().compressed, 1u);
  EXPECT_LT(store_->counters().bytes_held, large.size() / 4 * 3);
  ASSERT_TRUE(store_->Load(3, back));
  EXPECT_EQ(Await(1).at(3), SwapResult::kGood);
  EXPECT_EQ(back, large);
}

TEST_F(SwapStoreTest, RandomOrdersKeepTheNewest) {
  Random random(11);
  std::map<uint64_t, Contents> newest;
  for (int step = 0; step < 1500; ++step) {
    const uint64_t granule = random.Below(kGranules);
    switch (random.Below(4)) {
      case 0:
      case 1: {
        const Contents contents = random.Chance(1, 3)   ? Text(random.Next32())
                                  : random.Chance(1, 4) ? Contents(kSize)
                                                        : Noise(random.Next64());
        ASSERT_EQ(Store(granule, contents), SwapResult::kGood);
        newest[granule] = contents;
        break;
      }
      case 2:
        store_->Forget(granule);
        newest.erase(granule);
        break;
      case 3:
        ASSERT_EQ(store_->Holds(granule), newest.contains(granule));
        if (!newest.contains(granule)) break;
        ASSERT_EQ(Load(granule), SwapResult::kGood);
        ASSERT_EQ(loaded_, newest[granule]);
        break;
    }
  }
}

}  // namespace
}  // namespace verbena::managed
