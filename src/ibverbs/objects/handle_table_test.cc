#include "ibverbs/objects/handle_table.h"

#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "ibverbs/objects/refcount.h"

namespace verbena::ibverbs {
namespace {

struct Thing {
  int value = 0;
  Users users;
  HandleTable<Thing>::Entry entry = {};
};

class HandleTableTest : public ::testing::Test {
 protected:
  std::unique_ptr<Thing> Make(int value) {
    auto thing = std::make_unique<Thing>();
    thing->value = value;
    thing->entry = table_.Add(thing.get());
    return thing;
  }
  std::optional<int> ValueOf(uint32_t handle) {
    std::optional<int> value;
    const bool found = table_.With(handle, [&](const Thing& thing) { value = thing.value; });
    EXPECT_EQ(found, value.has_value());
    return value;
  }
  static bool Hide(Thing& thing) {
    return thing.entry.HideIf([&] { return !thing.users.any(); });
  }

  HandleTable<Thing> table_;
};

TEST_F(HandleTableTest, FindsAnObjectUntilItsEntryEnds) {
  auto one = Make(1);
  const auto two = Make(2);
  const uint32_t handle = one->entry.handle();
  EXPECT_EQ(ValueOf(handle), 1);
  EXPECT_EQ(ValueOf(two->entry.handle()), 2);
  one.reset();
  EXPECT_EQ(ValueOf(handle), std::nullopt);
  EXPECT_EQ(ValueOf(two->entry.handle()), 2);
}

TEST_F(HandleTableTest, AHiddenObjectIsNotFoundBeforeItIsShown) {
  const auto thing = Make(1);
  EXPECT_TRUE(Hide(*thing));
  EXPECT_EQ(ValueOf(thing->entry.handle()), std::nullopt);
  EXPECT_NE(Make(2)->entry.handle(), thing->entry.handle()) << "and keeps its handle";
  thing->entry.Show();
  EXPECT_EQ(ValueOf(thing->entry.handle()), 1);
}

TEST_F(HandleTableTest, AnObjectInUseIsNotHidden) {
  const auto thing = Make(1);
  Refcount refcount;
  EXPECT_TRUE(
      table_.With(thing->entry.handle(), [&](Thing& found) { refcount = Refcount(found.users); }));
  EXPECT_FALSE(Hide(*thing));
  EXPECT_EQ(ValueOf(thing->entry.handle()), 1);
  refcount = {};
}

TEST_F(HandleTableTest, HideWithoutAnEntryOnlyCallsIsFree) {
  Thing thing;
  EXPECT_TRUE(Hide(thing));
  const Refcount refcount(thing.users);
  EXPECT_FALSE(Hide(thing));
  thing.entry.Show();
}

// A thread that finds an object either has its reference before the owner looks, or finds none.
TEST_F(HandleTableTest, AnObjectIsNotDestroyedWhileAThreadUsesIt) {
  constexpr int kRounds = 2'000;
  std::unique_ptr<Thing> thing;
  for (int i = 0; i < kRounds; ++i) {
    thing = Make(i);
    std::thread user([&, handle = thing->entry.handle()] {
      Refcount refcount;
      const Thing* found = nullptr;
      if (!table_.With(handle, [&](Thing& at) {
            found = &at;
            refcount = Refcount(at.users);
          })) {
        return;
      }
      EXPECT_EQ(found->value, i);
    });
    while (!Hide(*thing)) std::this_thread::yield();
    thing.reset();
    user.join();
  }
}

}  // namespace
}  // namespace verbena::ibverbs
