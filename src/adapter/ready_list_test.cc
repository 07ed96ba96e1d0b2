#include "adapter/ready_list.h"

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

struct Item : ReadyHook, RunHook {
  explicit Item(int n) : number(n) {}

  int number;
  std::atomic<int> posted = 0;
  int done = 0;
};

std::vector<int> Take(ReadyList<Item>& list) {
  std::vector<int> numbers;
  list.TakeAll([&](Item& item) { numbers.push_back(item.number); });
  return numbers;
}

TEST(ReadyList, ReturnsEachMarkedObjectOnceInOrder) {
  ReadyList<Item> list;
  Item a(1), b(2), c(3);
  EXPECT_TRUE(list.empty());
  EXPECT_TRUE(list.Mark(a));
  EXPECT_TRUE(list.Mark(b));
  EXPECT_FALSE(list.Mark(a));
  EXPECT_TRUE(list.Mark(c));
  EXPECT_FALSE(list.empty());
  EXPECT_EQ(Take(list), (std::vector{1, 2, 3}));
  EXPECT_TRUE(list.empty());
  EXPECT_TRUE(Take(list).empty());
  EXPECT_TRUE(list.Mark(a));
  EXPECT_EQ(Take(list), (std::vector{1}));
}

TEST(ReadyList, MayBeMarkedWhileItIsTaken) {
  ReadyList<Item> list;
  Item a(1);
  list.Mark(a);
  list.TakeAll([&](Item& item) { EXPECT_TRUE(list.Mark(item)); });
  EXPECT_EQ(Take(list), (std::vector{1}));
}

TEST(RunQueue, IsFirstInFirstOutAndHoldsEachOnce) {
  RunQueue<Item> queue;
  Item a(1), b(2);
  EXPECT_EQ(queue.Pop(), nullptr);
  queue.Push(a);
  queue.Push(b);
  queue.Push(a);
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.Pop(), &a);
  queue.Push(a);
  EXPECT_EQ(queue.Pop(), &b);
  EXPECT_EQ(queue.Pop(), &a);
  EXPECT_TRUE(queue.empty());
}

TEST(RunQueue, RemovesFromAnyPlace) {
  for (int victim = 0; victim < 3; ++victim) {
    RunQueue<Item> queue;
    std::deque<Item> items;
    for (int i = 0; i < 3; ++i) queue.Push(items.emplace_back(i));
    Item& gone = items[static_cast<size_t>(victim)];
    queue.Remove(gone);
    queue.Remove(gone);
    Item late(9);
    queue.Push(late);
    std::vector<int> left;
    while (Item* item = queue.Pop()) left.push_back(item->number);
    std::vector<int> expected{0, 1, 2};
    std::erase(expected, victim);
    expected.push_back(9);
    EXPECT_EQ(left, expected);
  }
}

TEST(RunQueue, NoticesAnItemThatIsNotMarkedAsQueued) {
  RunQueue<Item> queue;
  Item a(0), b(1);
  queue.Push(a);
  queue.Push(b);
  EXPECT_TRUE(queue.IsConsistent());
  b.is_queued = false;
  EXPECT_FALSE(queue.IsConsistent());
  b.is_queued = true;
  a.next_to_run = nullptr;
  EXPECT_FALSE(queue.IsConsistent()) << "one is cut off";
  a.next_to_run = &a;
  EXPECT_FALSE(queue.IsConsistent()) << "a circle";
}

// Work that is posted before a Mark is seen by the next TakeAll: nothing is left undone.
TEST(ReadyListThreads, LosesNoMark) {
  constexpr int kItems = 4;
  constexpr int kRounds = 20'000;
  ReadyList<Item> list;
  std::deque<Item> items;
  for (int i = 0; i < kItems; ++i) items.emplace_back(i);
  std::vector<std::jthread> posters;
  for (int t = 0; t < 2; ++t) {
    posters.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        Item& item = items[static_cast<size_t>(i % kItems)];
        item.posted.fetch_add(1);
        list.Mark(item);
      }
    });
  }
  int done = 0;
  while (done < 2 * kRounds) {
    list.TakeAll([&](Item& item) {
      const int posted = item.posted.load();
      done += posted - item.done;
      item.done = posted;
    });
    if (list.empty()) std::this_thread::yield();
  }
  EXPECT_EQ(done, 2 * kRounds);
}

}  // namespace
}  // namespace verbena::adapter
