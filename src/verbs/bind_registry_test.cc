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
  BindRegistry book_;
};

TEST_F(BindRegistryTest, EndsThoseOfOneRegion) {
  WindowEntry a{.key = Allocate()}, b{.key = Allocate()}, c{.key = Allocate()};
  for (WindowEntry* const window : {&a, &b, &c}) book_.Add(*window);
  const Key region(0x100), other(0x200);
  book_.NoteBind(a.key, region);
  book_.NoteBind(b.key, other);
  book_.NoteBind(b.key, region);  // the last bind counts
  book_.NoteBind(c.key, other);
  book_.NoteBind(Key(0x99900), region);  // of no window that is known
  book_.EndBoundTo(Key(region.index(), KeyVariant(9)), node_.adapter());
  EXPECT_TRUE(a.has_ended && b.has_ended);
  EXPECT_FALSE(IsThere(a.key));
  EXPECT_FALSE(c.has_ended);
  EXPECT_TRUE(IsThere(c.key));
}

TEST_F(BindRegistryTest, EndsOneOnce) {
  WindowEntry a{.key = Allocate()};
  book_.Add(a);
  EXPECT_TRUE(book_.End(a, node_.adapter()).has_value());
  // Its index may be another's by now.
  EXPECT_TRUE(book_.End(a, node_.adapter()).has_value());
  book_.EndBoundTo(Key(), node_.adapter());
}

TEST(AnyVariantTest, TriesUntilOneFits) {
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

TEST(AnyVariantTest, StopsAtAnAnswer) {
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
