// Data transfers while allocations fail. Posting and polling allocate nothing, but the engine
// allocates when it pages in a page for the first time, on the polling thread or on a thread of
// Verbena. If that fails, requests can fail or take longer, but all of them complete, and the next
// connection works.

#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/survival/failures.h"
#include "tests/survival/world.h"

namespace verbena::survival {
namespace {

// Registered memory that was never touched: the engine must page in each page.
class FreshMemory {
 public:
  static constexpr size_t kHalf = size_t{1} << 20;

  explicit FreshMemory(World& world)
      : bytes_(static_cast<std::byte*>(
            mmap(nullptr, 2 * kHalf, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        mr_((ibv_reg_mr)(world.Pd(), bytes_, 2 * kHalf, World::kAccess)) {
    EXPECT_NE(mr_, nullptr);
  }
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;
  ~FreshMemory() {
    EXPECT_EQ(ibv_dereg_mr(mr_), 0);
    munmap(bytes_, 2 * kHalf);
  }

  [[nodiscard]] ibv_sge Source(uint32_t length) const { return At(0, length); }
  [[nodiscard]] ibv_sge Target(uint32_t length) const { return At(kHalf, length); }
  [[nodiscard]] uint32_t r_key() const { return mr_->rkey; }

 private:
  [[nodiscard]] ibv_sge At(size_t offset, uint32_t length) const {
    return {reinterpret_cast<uint64_t>(bytes_ + offset), length, mr_->lkey};
  }

  std::byte* const bytes_;
  ibv_mr* const mr_;
};

class DataPathTest : public ::testing::TestWithParam<ibv_qp_type> {
 protected:
  DataPathTest() { setenv("VERBENA_LOG", "error", 1); }

  // Two connected queue pairs, and the memory that they send from and receive into.
  struct Pair {
    explicit Pair(World& world, ibv_qp_type type)
        : memory(world),
          from(ibv_create_qp(world.Pd(), world.With(world.QpWish(type)))),
          to(ibv_create_qp(world.Pd(), world.With(world.QpWish(type)))) {
      world.Connect(from, to->qp_num);
      world.Connect(to, from->qp_num);
      if (type == IBV_QPT_UD) {
        ibv_ah_attr way = world.Loopback();
        ah = ibv_create_ah(world.Pd(), &way);
      }
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;
    ~Pair() {
      EXPECT_EQ(ibv_destroy_qp(from), 0);
      EXPECT_EQ(ibv_destroy_qp(to), 0);
      EXPECT_EQ(ah != nullptr ? ibv_destroy_ah(ah) : 0, 0);
    }

    FreshMemory memory;
    ibv_qp* const from;
    ibv_qp* const to;
    ibv_ah* ah = nullptr;
  };

  static int PostSend(const Pair& pair, ibv_wr_opcode opcode, uint32_t length) {
    ibv_sge sge = pair.memory.Source(length);
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    if (pair.ah != nullptr) {
      wr.wr.ud = {pair.ah, pair.to->qp_num, World::kQKey};
    } else if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {pair.memory.Target(0).addr, 1, 0, pair.memory.r_key()};
    } else {
      wr.wr.rdma = {pair.memory.Target(0).addr, pair.memory.r_key()};
    }
    ibv_send_wr* refused = nullptr;
    return ibv_post_send(pair.from, &wr, &refused);
  }

  // Returns the number of send requests. Posting must succeed, since it allocates nothing.
  static int PostAll(const Pair& pair) {
    constexpr uint32_t kLong = 200'000, kDatagram = 1'000;
    const uint32_t length = pair.ah != nullptr ? kDatagram : kLong;
    ibv_sge sge = pair.memory.Target(length + 40);
    ibv_recv_wr receive{0, nullptr, &sge, 1};
    ibv_recv_wr* refused = nullptr;
    EXPECT_EQ(ibv_post_recv(pair.to, &receive, &refused), 0);
    EXPECT_EQ(PostSend(pair, IBV_WR_SEND, length), 0);
    if (pair.from->qp_type != IBV_QPT_RC) return 1;
    EXPECT_EQ(PostSend(pair, IBV_WR_RDMA_WRITE, kLong), 0);
    EXPECT_EQ(PostSend(pair, IBV_WR_RDMA_READ, kLong), 0);
    EXPECT_EQ(PostSend(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 8), 0);
    return 4;
  }

  // The number of completions of the sending side, and whether all succeeded.
  struct Completed {
    int count = 0;
    bool all_succeeded = true;
  };
  static Completed Poll(World& world, const Pair& pair, int count) {
    Completed completed;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (completed.count < count && std::chrono::steady_clock::now() < end) {
      ibv_wc wc;
      const int found = ibv_poll_cq(world.Cq(), 1, &wc);
      EXPECT_GE(found, 0);
      if (found != 1 || wc.qp_num != pair.from->qp_num) continue;
      ++completed.count;
      completed.all_succeeded = completed.all_succeeded && wc.status == IBV_WC_SUCCESS;
    }
    return completed;
  }

  // Fails the n-th allocation. False if there were fewer than n.
  static bool FailAt(size_t n, Whose whose) {
    World world;
    world.Cq();
    bool failed = false;
    {
      const Pair pair(world, GetParam());
      Failing failing(Resource::kMemory, n, whose);
      const int posted = PostAll(pair);
      const Completed completed = Poll(world, pair, posted);
      failed = failing.Stop();
      EXPECT_EQ(completed.count, posted) << "allocation " << n << " failed";
    }
    const Pair pair(world, IBV_QPT_RC);
    const int posted = PostAll(pair);
    const Completed completed = Poll(world, pair, posted);
    EXPECT_EQ(completed.count, posted) << "after allocation " << n << " failed";
    EXPECT_TRUE(completed.all_succeeded) << "after allocation " << n << " failed";
    return failed;
  }
};

TEST_P(DataPathTest, AllRequestsCompleteWhenAllocationsOfThePollerFail) {
  constexpr size_t kRequestsMax = 300;
  size_t n = 1;
  while (FailAt(n, Whose::kThisThread) && !HasFailure()) ASSERT_LT(++n, kRequestsMax);
}

// The number of allocations of these threads varies from run to run, so the test fails a fixed
// number of them.
TEST_P(DataPathTest, AllRequestsCompleteWhenAllocationsOfOurThreadsFail) {
  constexpr size_t kRequests = 24;
  for (size_t n = 1; n < kRequests && !HasFailure(); ++n) {
    static_cast<void>(FailAt(n, Whose::kOtherThreads));
  }
}

INSTANTIATE_TEST_SUITE_P(Services, DataPathTest,
                         ::testing::Values(IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD),
                         [](const auto& type) {
                           return type.param == IBV_QPT_RC   ? "Rc"
                                  : type.param == IBV_QPT_UC ? "Uc"
                                                             : "Ud";
                         });

}  // namespace
}  // namespace verbena::survival
