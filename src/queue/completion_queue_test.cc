#include "queue/completion_queue.h"

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::queue {
namespace {

using PushStatus = CompletionQueue::PushStatus;
using Wanted = CompletionQueue::Wanted;

Time At(int64_t ns) { return Time(Nanoseconds(ns)); }

Completion Make(uint64_t id, uint32_t qp = 1) {
  return {.id = WrId(id), .qp = QpNumber(qp), .opcode = CompletionOpcode::kReceive};
}

Completion Failed(uint64_t id) {
  Completion completion = Make(id);
  completion.status = CompletionStatus::kFlushed;
  return completion;
}

PushStatus Push(CompletionQueue& queue, uint64_t id, uint32_t qp = 1) {
  return queue.Push(Make(id, qp), false, At(0)).status;
}

std::vector<uint64_t> PollAll(CompletionQueue& queue) {
  std::vector<uint64_t> ids;
  std::array<Completion, 3> batch;
  for (;;) {
    const auto count = queue.Poll(batch);
    if (!count || *count == 0) return ids;
    for (size_t i = 0; i < *count; ++i) ids.push_back(batch[i].id.value());
  }
}

using Ids = std::vector<uint64_t>;

TEST(CompletionQueueTest, CompletionsArePolledUnchangedAndInOrder) {
  CompletionQueue queue(4);
  Completion in{.id = WrId(1),
                .qp = QpNumber(2),
                .source_qp = QpNumber(3),
                .byte_count = 4,
                .immediate = Immediate(5),
                .vendor_error = 6,
                .p_key_index = 7,
                .slid = 8,
                .sl = 9,
                .path_bits = 10,
                .status = CompletionStatus::kSuccess,
                .opcode = CompletionOpcode::kReceiveWithImmediate,
                .with_immediate = true};
  EXPECT_EQ(queue.Push(in, false, At(77)).status, PushStatus::kStored);
  std::array<Completion, 2> out;
  EXPECT_EQ(queue.Poll(out), 1u);
  in.timestamp_ns = At(77).nanoseconds();
  EXPECT_EQ(out[0], in);
  EXPECT_EQ(queue.Poll(out), 0u);
}

TEST(CompletionQueueTest, HoldsAtLeastTheRequestedCapacity) {
  for (size_t asked = 1; asked < 10; ++asked) {
    CompletionQueue queue(asked);
    EXPECT_GE(queue.capacity(), asked);
    for (uint64_t i = 0; i < asked; ++i) EXPECT_EQ(Push(queue, i), PushStatus::kStored);
    EXPECT_TRUE(queue.IsConsistent());
  }
}

TEST(CompletionQueueTest, OverflowIsPermanent) {
  CompletionQueue queue(2);
  Push(queue, 1);
  Push(queue, 2);
  EXPECT_EQ(Push(queue, 3), PushStatus::kOverflowed);
  EXPECT_EQ(Push(queue, 4), PushStatus::kInError);
  EXPECT_TRUE(queue.overflowed());
  EXPECT_EQ(queue.Resize(8).error(), CqError::kOverflow);
  EXPECT_EQ(PollAll(queue), (Ids{1, 2}));  // earlier entries are kept
  std::array<Completion, 1> out;
  EXPECT_EQ(queue.Poll(out).error(), CqError::kOverflow);
  EXPECT_EQ(queue.StartPoll().error(), CqError::kOverflow);
  EXPECT_EQ(Push(queue, 5), PushStatus::kInError);
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(CompletionQueueTest, DiscardedCompletionsCauseNoOverflow) {
  CompletionQueue queue(2);
  Push(queue, 1);
  queue.set_discards(true);
  for (uint64_t id = 2; id < 5; ++id) EXPECT_EQ(Push(queue, id, 7), PushStatus::kStored);
  queue.set_discards(false);
  EXPECT_FALSE(queue.overflowed());
  EXPECT_EQ(queue.RemoveQp(QpNumber(7)), 1U);
  EXPECT_EQ(PollAll(queue), (Ids{1}));
  for (uint64_t id = 5; id < 7; ++id) Push(queue, id);
  EXPECT_EQ(Push(queue, 7), PushStatus::kOverflowed);
}

TEST(CompletionQueueTest, EntriesAreReadInPlaceAndRemovedAtTheEnd) {
  CompletionQueue queue(4);
  EXPECT_EQ(queue.StartPoll(), nullptr);
  for (uint64_t id = 1; id <= 3; ++id) Push(queue, id);
  EXPECT_EQ(queue.StartPoll().value()->id, WrId(1));
  EXPECT_EQ(queue.NextPoll()->id, WrId(2));
  EXPECT_EQ(queue.size(), 3u);
  queue.EndPoll();
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.StartPoll().value()->id, WrId(3));
  EXPECT_EQ(queue.NextPoll(), nullptr);
  Push(queue, 4);  // the engine does not wait for a batch to end
  EXPECT_EQ(queue.NextPoll()->id, WrId(4));
  queue.EndPoll();
  EXPECT_EQ(PollAll(queue), Ids{});
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(CompletionQueueTest, ResizeKeepsEntries) {
  CompletionQueue queue(4);
  for (uint64_t id = 0; id < 3; ++id) Push(queue, id);
  EXPECT_EQ(PollAll(queue).size(), 3u);
  for (uint64_t id = 3; id < 7; ++id) Push(queue, id);
  ASSERT_TRUE(queue.Resize(9));
  EXPECT_GE(queue.capacity(), 9u);
  Push(queue, 7);
  EXPECT_EQ(queue.Resize(4).error(), CqError::kTooSmall);
  ASSERT_TRUE(queue.Resize(5));
  EXPECT_EQ(PollAll(queue), (Ids{3, 4, 5, 6, 7}));
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(CompletionQueueTest, RemovesTheEntriesOfOneQp) {
  CompletionQueue queue(8);
  for (uint64_t id = 0; id < 5; ++id) Push(queue, 99);
  PollAll(queue);  // so that the ring wraps
  for (uint64_t id = 0; id < 8; ++id) Push(queue, id, id % 3 == 0 ? 7 : 8);
  EXPECT_EQ(queue.RemoveQp(QpNumber(7)), 3u);
  EXPECT_EQ(queue.RemoveQp(QpNumber(7)), 0u);
  EXPECT_TRUE(queue.IsConsistent());
  for (uint64_t id = 8; id < 11; ++id) EXPECT_EQ(Push(queue, id), PushStatus::kStored);
  EXPECT_EQ(PollAll(queue), (Ids{1, 2, 4, 5, 7, 8, 9, 10}));
}

TEST(CompletionQueueEventTest, OneEventPerArm) {
  CompletionQueue queue(8);
  EXPECT_FALSE(queue.Push(Make(1), true, At(0)).event_now);
  queue.Arm(Wanted::kAll);
  EXPECT_TRUE(queue.Push(Make(2), false, At(0)).event_now);
  EXPECT_FALSE(queue.Push(Make(3), true, At(0)).event_now);
  queue.Arm(Wanted::kAll);
  queue.Arm(Wanted::kAll);
  EXPECT_TRUE(queue.Push(Make(4), false, At(0)).event_now);
  EXPECT_FALSE(queue.Push(Make(5), false, At(0)).event_now);
}

TEST(CompletionQueueEventTest, ExistingEntriesRaiseNoEvent) {
  CompletionQueue queue(8);
  Push(queue, 1);
  queue.Arm(Wanted::kAll);
  EXPECT_FALSE(queue.OnTime(At(1'000)));
  EXPECT_EQ(queue.deadline(), Time::Never());
  EXPECT_TRUE(queue.Push(Make(2), false, At(0)).event_now);
}

TEST(CompletionQueueEventTest, SolicitedOnly) {
  CompletionQueue queue(8);
  queue.Arm(Wanted::kSolicited);
  EXPECT_FALSE(queue.Push(Make(1), false, At(0)).event_now);
  EXPECT_TRUE(queue.Push(Make(2), true, At(0)).event_now);
  queue.Arm(Wanted::kSolicited);
  EXPECT_TRUE(queue.Push(Failed(3), false, At(0)).event_now);  // errors count as solicited
  EXPECT_FALSE(queue.Push(Failed(4), true, At(0)).event_now);
}

TEST(CompletionQueueEventTest, ArmingForAllOverridesSolicited) {
  CompletionQueue queue(8);
  queue.Arm(Wanted::kAll);
  queue.Arm(Wanted::kSolicited);
  EXPECT_TRUE(queue.Push(Make(1), false, At(0)).event_now);
  queue.Arm(Wanted::kSolicited);
  queue.Arm(Wanted::kAll);
  EXPECT_TRUE(queue.Push(Make(2), false, At(0)).event_now);
}

TEST(CompletionQueueEventTest, ModerationWaitsForTheCount) {
  CompletionQueue queue(16);
  queue.SetModeration(3, Microseconds(1));
  queue.Arm(Wanted::kAll);
  EXPECT_EQ(queue.Push(Make(1), false, At(10)).event_at, At(1'010));
  EXPECT_EQ(queue.Push(Make(2), false, At(500)).event_at, At(1'010));
  const auto third = queue.Push(Make(3), false, At(600));
  EXPECT_TRUE(third.event_now);
  EXPECT_EQ(third.event_at, Time::Never());
  EXPECT_FALSE(queue.OnTime(At(5'000)));  // it was for these three
}

TEST(CompletionQueueEventTest, ModerationWaitsForThePeriod) {
  CompletionQueue queue(16);
  queue.SetModeration(3, Microseconds(1));
  queue.Arm(Wanted::kAll);
  EXPECT_FALSE(queue.Push(Make(1), false, At(10)).event_now);
  EXPECT_EQ(queue.deadline(), At(1'010));
  EXPECT_FALSE(queue.OnTime(At(1'009)));
  EXPECT_TRUE(queue.IsConsistent());
  EXPECT_TRUE(queue.OnTime(At(1'010)));
  EXPECT_FALSE(queue.OnTime(At(1'011)));
  EXPECT_FALSE(queue.Push(Make(2), false, At(1'020)).event_now);
  EXPECT_EQ(queue.deadline(), Time::Never());  // not armed again yet
}

TEST(CompletionQueueEventTest, LatePushRaisesTheOverdueEvent) {
  CompletionQueue queue(16);
  queue.SetModeration(3, Microseconds(1));
  queue.Arm(Wanted::kSolicited);
  queue.Push(Make(1), true, At(0));
  EXPECT_TRUE(queue.Push(Make(2), false, At(2'000)).event_now);
}

TEST(CompletionQueueEventTest, ModerationCountsOnlyWantedCompletions) {
  CompletionQueue queue(16);
  queue.SetModeration(2, Seconds(1));
  queue.Arm(Wanted::kSolicited);
  queue.Push(Make(1), true, At(0));
  EXPECT_FALSE(queue.Push(Make(2), false, At(1)).event_now);
  EXPECT_TRUE(queue.Push(Make(3), true, At(2)).event_now);
}

TEST(CompletionQueueEventTest, ChangedModerationAppliesToADelayedEvent) {
  CompletionQueue queue(16);
  queue.SetModeration(10, Duration::Max());
  queue.Arm(Wanted::kAll);
  EXPECT_EQ(queue.Push(Make(1), false, At(0)).event_at, Time::Never());
  queue.SetModeration(10, Nanoseconds(50));
  EXPECT_FALSE(queue.OnTime(At(49)));
  queue.SetModeration(1, Nanoseconds(50));
  EXPECT_TRUE(queue.OnTime(At(49)));
  queue.SetModeration(10, Duration());
  queue.Arm(Wanted::kAll);
  EXPECT_TRUE(queue.Push(Make(2), false, At(60)).event_now);
}

// The queue as a list and a few rules of the specification.
struct Model {
  std::deque<Completion> entries;
  bool broken = false;
  bool all = false;
  bool solicited = false;

  bool Push(const Completion& completion, bool is_solicited, size_t capacity) {
    if (broken || entries.size() == capacity) {
      broken = true;
      return false;
    }
    entries.push_back(completion);
    const bool special = is_solicited || completion.status != CompletionStatus::kSuccess;
    if (!all && !(solicited && special)) return false;
    all = solicited = false;
    return true;
  }
};

void PushBoth(CompletionQueue& queue, Model& model, Random& random, uint64_t id) {
  Completion completion = random.Chance(1, 5) ? Failed(id) : Make(id);
  completion.qp = QpNumber(random.Chance(1, 2) ? 1 : 2);
  const bool solicited = random.Chance(1, 3);
  const bool event = model.Push(completion, solicited, queue.capacity());
  const auto result = queue.Push(completion, solicited, Time(Nanoseconds(completion.timestamp_ns)));
  ASSERT_EQ(result.event_now, event);
  ASSERT_EQ(result.status == PushStatus::kStored, !model.broken);
}

void PollBoth(CompletionQueue& queue, Model& model, Random& random) {
  std::vector<Completion> out(random.Between(1, 4));
  const auto count = queue.Poll(out);
  const size_t expected = std::min(out.size(), model.entries.size());
  ASSERT_EQ(count.has_value(), expected > 0 || !model.broken);
  ASSERT_EQ(count.value_or(0), expected);
  for (size_t i = 0; i < expected; ++i, model.entries.pop_front()) {
    ASSERT_EQ(out[i], model.entries.front());
  }
}

void PollBothInPlace(CompletionQueue& queue, Model& model, Random& random) {
  const auto first = queue.StartPoll();
  ASSERT_EQ(first.value_or(nullptr) != nullptr, !model.entries.empty());
  if (model.entries.empty()) return;
  const Completion* shown = *first;
  for (uint64_t left = random.Between(1, 4); shown != nullptr; shown = queue.NextPoll()) {
    ASSERT_EQ(*shown, model.entries.front());
    model.entries.pop_front();
    if (--left == 0) break;
  }
  if (shown == nullptr) {
    ASSERT_TRUE(model.entries.empty());
  }
  queue.EndPoll();
}

void StepBoth(CompletionQueue& queue, Model& model, Random& random, uint64_t id) {
  switch (random.Below(24)) {
    case 0: {
      const size_t capacity = random.Between(1, 12);
      const bool possible = !model.broken && capacity >= model.entries.size();
      ASSERT_EQ(queue.Resize(capacity).has_value(), possible);
      return;
    }
    case 1:
      ASSERT_EQ(queue.RemoveQp(QpNumber(2)), std::erase_if(model.entries, [](const auto& entry) {
                  return entry.qp == QpNumber(2);
                }));
      return;
    case 2:
      model.all = true;
      return queue.Arm(Wanted::kAll);
    case 3:
    case 4:
      model.solicited = true;
      return queue.Arm(Wanted::kSolicited);
    case 5:
    case 6:
    case 7:
    case 8:
      return PollBoth(queue, model, random);
    case 9:
    case 10:
    case 11:
      return PollBothInPlace(queue, model, random);
    default:
      return PushBoth(queue, model, random, id);
  }
}

TEST(CompletionQueuePropertyTest, AgreesWithTheModel) {
  size_t broken = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    CompletionQueue queue(random.Between(1, 12));
    Model model;
    for (uint64_t step = 0; step < 100; ++step) {
      StepBoth(queue, model, random, step);
      if (HasFatalFailure()) return;
      ASSERT_EQ(queue.size(), model.entries.size());
      ASSERT_TRUE(queue.IsConsistent());
    }
    if (model.broken) ++broken;
  }
  // Both outcomes occurred.
  EXPECT_GT(broken, 0u);
  EXPECT_LT(broken, 100u);
}

}  // namespace
}  // namespace verbena::queue
