#include "verbs/bind_registry.h"

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"
#include "verbs/any_variant.h"

namespace verbena::verbs {
namespace {

class BindRegistryTest : public testing::Test {
 protected:
  Key Allocate() { return *node_.adapter().AllocateWindow(node_.pd(), WindowType::k2A); }
  bool IsThere(Key key) { return node_.adapter().DeallocateWindow(key).has_value(); }

  adapter::TestNode node_{"127.0.0.1"};
  BindRegistry registry_;
};

TEST_F(BindRegistryTest, EndsTheWindowsOfOneRegion) {
  WindowEntry a{.key = Allocate()}, b{.key = Allocate()}, c{.key = Allocate()};
  for (WindowEntry* const window : {&a, &b, &c}) registry_.Add(*window);
  const Key region(0x100), other(0x200);
  registry_.NoteBind(a.key, region);
  registry_.NoteBind(b.key, other);
  registry_.NoteBind(b.key, region);  // replaces the earlier bind
  registry_.NoteBind(c.key, other);
  registry_.NoteBind(Key(0x99900), region);  // an unknown window
  registry_.EndBoundTo(Key(region.index(), KeyVariant(9)), node_.adapter());
  EXPECT_TRUE(a.has_ended && b.has_ended);
  EXPECT_FALSE(IsThere(a.key));
  EXPECT_FALSE(c.has_ended);
  EXPECT_TRUE(IsThere(c.key));
}

TEST_F(BindRegistryTest, EndsAWindowOnce) {
  WindowEntry a{.key = Allocate()};
  registry_.Add(a);
  EXPECT_TRUE(registry_.End(a, node_.adapter()).has_value());
  // The index may belong to another window already.
  EXPECT_TRUE(registry_.End(a, node_.adapter()).has_value());
  registry_.EndBoundTo(Key(), node_.adapter());
}

TEST(AnyVariantTest, TriesVariantsUntilOneMatches) {
  const Key key(KeyIndex(7), KeyVariant(250));
  int tries = 0;
  const auto ended = EndAnyVariant(key, [&](Key tried) -> ErrorOr<void> {
    ++tries;
    EXPECT_EQ(tried.index(), key.index());
    if (tried.variant() == KeyVariant(3)) return {};
    return Fail(Error{ErrorCode::kInvalid, "stale"});
  });
  EXPECT_TRUE(ended.has_value());
  EXPECT_EQ(tries, 10);  // 250 to 255, and 0 to 3
}

TEST(AnyVariantTest, StopsAtAnErrorOtherThanAStaleVariant) {
  int tries = 0;
  const auto refused = EndAnyVariant(Key(0x700), [&](Key) -> ErrorOr<void> {
    ++tries;
    return Fail(Error{ErrorCode::kInUse, "bound"});
  });
  EXPECT_EQ(refused.error().code, ErrorCode::kInUse);
  EXPECT_EQ(tries, 1);
  const auto unknown = EndAnyVariant(Key(0x700), [&](Key) -> ErrorOr<void> {
    return Fail(Error{ErrorCode::kInvalid, "none"});
  });
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace verbena::verbs
