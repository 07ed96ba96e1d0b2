#include "adapter/timer_heap.h"

#include <algorithm>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::adapter {
namespace {

struct Item : TimerHook {
  Time deadline = Time::Never();
};

Time At(int64_t ns) { return Time(Nanoseconds(ns)); }

TEST(TimerHeap, ShowsTheEarliestFirst) {
  TimerHeap<Item> heap;
  Item a, b, c;
  EXPECT_EQ(heap.next(), Time::Never());
  heap.Set(a, At(30));
  heap.Set(b, At(10));
  heap.Set(c, At(20));
  EXPECT_EQ(heap.next(), At(10));
  EXPECT_EQ(heap.TakeDue(At(9)), nullptr);
  EXPECT_EQ(heap.TakeDue(At(25)), &b);
  EXPECT_EQ(heap.TakeDue(At(25)), &c);
  EXPECT_EQ(heap.TakeDue(At(25)), nullptr);
  EXPECT_EQ(heap.TakeDue(At(30)), &a);
  EXPECT_EQ(heap.size(), 0U);
}

TEST(TimerHeap, ALaterDeadlineTakesEffectWhenTheOldOneIsDue) {
  TimerHeap<Item> heap;
  Item a;
  heap.Set(a, At(10));
  heap.Set(a, At(50));
  heap.Set(a, Time::Never());
  EXPECT_EQ(heap.next(), At(10));
  EXPECT_EQ(heap.TakeDue(At(10)), &a);
  heap.Set(a, At(50));
  EXPECT_EQ(heap.next(), At(50));
}

TEST(TimerHeap, AnEarlierDeadlineTakesEffectAtOnce) {
  TimerHeap<Item> heap;
  Item a, b;
  heap.Set(a, At(10));
  heap.Set(b, At(20));
  heap.Set(b, At(5));
  EXPECT_EQ(heap.TakeDue(At(5)), &b);
  EXPECT_EQ(heap.size(), 1U);
}

TEST(TimerHeap, NeverIsNotInTheHeap) {
  TimerHeap<Item> heap;
  Item a;
  heap.Set(a, Time::Never());
  EXPECT_EQ(heap.size(), 0U);
  heap.Remove(a);
}

// Compares the heap with the simplest implementation: a check of every object.
TEST(TimerHeap, MissesNoDeadline) {
  Random random(1);
  TimerHeap<Item> heap;
  std::deque<Item> items(50);
  int64_t now = 0;
  for (int step = 0; step < 20'000; ++step) {
    Item& item = items[random.Below(items.size())];
    if (random.Chance(1, 20)) {
      heap.Remove(item);
      item.deadline = Time::Never();
    } else {
      item.deadline =
          random.Chance(1, 5) ? Time::Never() : At(now + static_cast<int64_t>(random.Below(1'000)));
      heap.Set(item, item.deadline);
    }
    now += static_cast<int64_t>(random.Below(50));
    while (Item* due = heap.TakeDue(At(now))) {
      if (due->deadline <= At(now)) due->deadline = Time::Never();
      heap.Set(*due, due->deadline);
    }
    ASSERT_TRUE(heap.IsConsistent());
    ASSERT_TRUE(std::ranges::all_of(items, [&](const Item& i) { return i.deadline > At(now); }));
  }
}

}  // namespace
}  // namespace verbena::adapter
