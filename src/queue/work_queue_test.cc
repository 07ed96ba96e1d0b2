#include "queue/work_queue.h"

#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::queue {
namespace {

constexpr WorkQueueLimits kLimits{.capacity = 3, .sges_max = 2, .inline_max = 8, .pages_max = 2};

SendWqe Send(uint64_t id) { return {.id = WrId(id)}; }

Sge SgeOf(std::string_view bytes) {
  return {.address = reinterpret_cast<uintptr_t>(bytes.data()),
          .length = static_cast<uint32_t>(bytes.size()),
          .key = Key()};
}

std::string StringOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
std::vector<T> VectorOf(std::span<const T> values) {
  return {values.begin(), values.end()};
}

TEST(WorkQueueTest, KeepsPostedRequests) {
  SendQueue queue(kLimits);
  EXPECT_EQ(queue.begin(), queue.end());
  std::vector<Sge> sges = {{.address = 1, .length = 2, .key = Key(3)},
                           {.address = 4, .length = 5, .key = Key(6)}};
  const std::vector<Sge> copy = sges;
  const SendWqe wqe{.id = WrId(9),
                    .opcode = SendOpcode::kWriteWithImmediate,
                    .flags = {.signaled = true},
                    .immediate = Immediate(8),
                    .operand = RemoteAddress{.address = 7, .key = Key(1)}};
  const auto n = queue.Post({wqe, sges});
  ASSERT_TRUE(n);
  sges.assign(2, Sge{});  // the program may reuse its list

  EXPECT_EQ(*n, queue.begin());
  EXPECT_EQ(queue.end(), Next(*n));
  EXPECT_EQ(queue.At(*n), wqe);
  EXPECT_EQ(VectorOf(queue.SgesAt(*n)), copy);
  EXPECT_EQ(queue.LengthAt(*n), 7u);
  EXPECT_TRUE(queue.InlineAt(*n).empty());
  EXPECT_TRUE(queue.PagesAt(*n).empty());
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(WorkQueueTest, AnElementOccupiesItsPlaceUntilRetired) {
  SendQueue queue(kLimits);
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(queue.Post({Send(i), {}}));
  EXPECT_EQ(queue.Post({Send(3), {}}).error(), PostReason::kQueueFull);
  queue.Retire(Next(queue.begin()));
  EXPECT_EQ(queue.At(queue.begin()).id, WrId(2));
  EXPECT_TRUE(queue.Post({Send(3), {}}));
  EXPECT_TRUE(queue.Post({Send(4), {}}));
  EXPECT_EQ(queue.Post({Send(5), {}}).error(), PostReason::kQueueFull);
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(WorkQueueTest, InlineDataIsCopiedAtOnce) {
  SendQueue queue(kLimits);
  std::string first = "abc";
  std::string second = "defgh";
  SendWqe wqe = Send(1);
  wqe.flags.inlined = true;
  const std::array<Sge, 2> sges = {SgeOf(first), SgeOf(second)};
  const auto n = queue.Post({wqe, sges});
  ASSERT_TRUE(n);
  first = second = "?????";
  EXPECT_EQ(StringOf(queue.InlineAt(*n)), "abcdefgh");
  EXPECT_TRUE(queue.SgesAt(*n).empty());
  EXPECT_EQ(queue.LengthAt(*n), 8u);
}

TEST(WorkQueueTest, InlineDataIsBounded) {
  SendQueue queue(kLimits);
  SendWqe wqe = Send(1);
  wqe.flags.inlined = true;
  const std::array<Sge, 1> too_long = {SgeOf("123456789")};
  EXPECT_EQ(queue.Post({wqe, too_long}).error(), PostReason::kInlineTooLong);
  // The lengths add up in 64 bits.
  constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
  const std::array<Sge, 2> wrapping = {Sge{.address = 0, .length = kMax, .key = {}},
                                       Sge{.address = 0, .length = 2, .key = {}}};
  EXPECT_EQ(queue.Post({wqe, wrapping}).error(), PostReason::kInlineTooLong);
  const std::array<Sge, 1> empty = {Sge{.address = 1, .length = 0, .key = {}}};
  const auto n = queue.Post({wqe, empty});
  ASSERT_TRUE(n);
  EXPECT_TRUE(queue.InlineAt(*n).empty());
}

TEST(WorkQueueTest, PagesAreCopied) {
  SendQueue queue(kLimits);
  std::vector<uint64_t> pages = {0x1000, 0x5000};
  const SendWqe wqe{.opcode = SendOpcode::kRegister, .operand = RegistrationOperand{}};
  const auto n = queue.Post({wqe, {}, pages});
  ASSERT_TRUE(n);
  pages.assign(2, 0);
  EXPECT_EQ(VectorOf(queue.PagesAt(*n)), (std::vector<uint64_t>{0x1000, 0x5000}));
}

TEST(WorkQueueTest, RefusedRequestsLeaveNoTrace) {
  SendQueue queue(kLimits);
  const std::array<Sge, 3> sges{};
  EXPECT_EQ(queue.Post({Send(1), sges}).error(), PostReason::kTooManySges);
  EXPECT_EQ(queue.Post({SendWqe{.opcode = SendOpcode::kRead}, {}}).error(),
            PostReason::kBadOperand);
  EXPECT_EQ(queue.begin(), queue.end());
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(WorkQueueTest, AChainIsPostedUpToTheRefusedRequest) {
  SendQueue queue(kLimits);
  {
    SendQueue::Posting posting(queue);
    EXPECT_TRUE(posting.Add({Send(1), {}}));
    EXPECT_TRUE(posting.Add({Send(2), {}}));
    EXPECT_EQ(queue.begin(), queue.end());  // not visible before it is complete
    EXPECT_EQ(posting.Add({SendWqe{.opcode = SendOpcode::kDelay}, {}}).error(),
              PostReason::kBadOperand);
  }
  ASSERT_EQ(queue.end(), WqeNumber(2));
  EXPECT_EQ(queue.At(WqeNumber(1)).id, WrId(2));
}

TEST(WorkQueueTest, AnAbortedChainHasNoEffect) {
  SendQueue queue(kLimits);
  ASSERT_TRUE(queue.Post({Send(1), {}}));
  {
    SendQueue::Posting posting(queue);
    EXPECT_TRUE(posting.Add({Send(2), {}}));
    EXPECT_TRUE(posting.Add({Send(3), {}}));
    EXPECT_FALSE(posting.Add({Send(4), {}}));
    posting.Abort();
    EXPECT_TRUE(posting.Add({Send(5), {}}));
  }
  ASSERT_EQ(queue.end(), WqeNumber(2));
  EXPECT_EQ(queue.At(WqeNumber(1)).id, WrId(5));
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(WorkQueueTest, AQueueWithoutElementsRefusesPosts) {
  ReceiveQueue queue(WorkQueueLimits{});
  EXPECT_EQ(queue.Post({{WrId(1)}, {}}).error(), PostReason::kQueueFull);
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(WorkQueueDeathTest, RetiresOnlyPostedElements) {
  ReceiveQueue queue(kLimits);
  EXPECT_DEATH(queue.Retire(WqeNumber(0)), "CHECK failed");
  ASSERT_TRUE(queue.Post({{WrId(1)}, {}}));
  queue.Retire(WqeNumber(0));
  EXPECT_DEATH(queue.Retire(WqeNumber(0)), "CHECK failed");
}

TEST(WorkQueuePropertyTest, AgreesWithADeque) {
  Random random(1);
  for (uint32_t capacity = 1; capacity < 10; ++capacity) {
    const WorkQueueLimits limits{.capacity = capacity, .sges_max = 3};
    ReceiveQueue queue(limits);
    std::deque<std::pair<WrId, std::vector<Sge>>> model;
    for (uint64_t step = 0; step < 600; ++step) {
      if (random.Chance(1, 2)) {
        std::vector<Sge> sges(random.Below(5));
        for (Sge& sge : sges) sge = {random.Next64(), random.Next32(), Key(random.Next32())};
        const bool expected = sges.size() <= 3 && model.size() < capacity;
        ASSERT_EQ(queue.Post({{WrId(step)}, sges}).has_value(), expected);
        if (expected) model.emplace_back(WrId(step), std::move(sges));
      } else if (!model.empty()) {
        const uint64_t count = random.Between(1, model.size());
        queue.Retire(WqeNumber(queue.begin().value() + count - 1));
        model.erase(model.begin(), model.begin() + static_cast<ptrdiff_t>(count));
      }
      WqeNumber n = queue.begin();
      for (const auto& [id, sges] : model) {
        ASSERT_LT(n, queue.end());
        ASSERT_EQ(queue.At(n).id, id);
        ASSERT_EQ(VectorOf(queue.SgesAt(n)), sges);
        n = Next(n);
      }
      ASSERT_EQ(n, queue.end());
      ASSERT_TRUE(queue.IsConsistent());
    }
  }
}

}  // namespace
}  // namespace verbena::queue
