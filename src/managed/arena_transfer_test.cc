#include "managed/arena_transfer.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/arena_fixture.h"

namespace verbena::managed {
namespace {

constexpr uint64_t kPage = 4096, kSize = 256 * kPage;

class ArenaTransferThreads : public testing::Test {
 protected:
  ArenaTransferThreads() {
    ArenaOptions options{.size = kSize, .budget = 32 * kPage};
    options.swap = testing::TempDir();
    options.compress = false;
    options.now = &Now;
    options.wrap_swap_file = [this](std::unique_ptr<SwapFile> file) {
      return std::make_unique<TroubledSwapFile>(std::move(file), trouble_);
    };
    arena_ = std::move(Arena::Make(options, transfer_.Around(adapter_.callbacks())).value());
    adapter_.Attach(*arena_);
  }
  // Copies all of `bytes`, in as many transfers as that takes.
  void MoveAll(bool in, std::span<std::byte> bytes) {
    for (uint64_t done = 0; done < bytes.size();) {
      const Answer answer = in ? transfer_.CopyIn(*arena_, done, bytes.subspan(done))
                               : transfer_.CopyOut(*arena_, done, bytes.subspan(done));
      ASSERT_TRUE(answer);
      done += *answer;
    }
  }

  const std::shared_ptr<SwapTrouble> trouble_ = std::make_shared<SwapTrouble>();
  AdapterForTest adapter_{kSize / kPage};
  ArenaTransfer transfer_;
  std::unique_ptr<Arena> arena_;
};

TEST_F(ArenaTransferThreads, CopiesInAndOut) {
  std::vector<std::byte> in(kSize), out(kSize);
  for (uint64_t i = 0; i < kSize; ++i) in[i] = static_cast<std::byte>(i * 7 + i / kPage);
  MoveAll(true, in);
  EXPECT_LE(arena_->resident_bytes(), 32 * kPage);
  MoveAll(false, out);
  EXPECT_EQ(in, out);
}

TEST_F(ArenaTransferThreads, OtherRequestsAreAnsweredAsBefore) {
  std::vector<std::byte> page(kPage, std::byte{9});
  ASSERT_TRUE(transfer_.CopyIn(*arena_, 3 * kPage, page));
  uint64_t seen = 0;
  while (seen == 0) {
    seen = adapter_.Access(3 * kPage, kPage, false,
                           [](std::byte* at, uint64_t) { EXPECT_EQ(*at, std::byte{9}); });
  }
}

TEST_F(ArenaTransferThreads, ReportsLostGranules) {
  std::vector<std::byte> bytes(kSize, std::byte{1});
  MoveAll(true, bytes);
  uint64_t at = 0;
  while (arena_->residency(at) != Residency::kSwapped) at += kPage;
  trouble_->lying_reads = 1'000'000;
  const Answer answer = transfer_.CopyOut(*arena_, at, std::span(bytes).first(kPage));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), paging::RequestError::kBroken);
}

}  // namespace
}  // namespace verbena::managed
