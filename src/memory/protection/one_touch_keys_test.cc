#include "memory/protection/one_touch_keys.h"

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint32_t kNext = 5000;  // position of the stream
constexpr StreamPosition kStream{StreamNumber(kNext), 1000};

constexpr StreamSegment End(uint32_t last_byte) { return {true, StreamNumber(last_byte)}; }
constexpr StreamSegment kInOrder = End(kNext - 1);
constexpr StreamSegment kEarly = End(kNext + 99);

class OneTouchKeysTest : public MemoryFixture {
 protected:
  OneTouchKeysTest() {
    region_ = LinearRegion(kBase, kPage);
    window_ = *core_.windows.Allocate(pd_, WindowType::k1);
    Bind();
  }
  void Bind() { window_ = *core_.windows.Bind(window_, binding(), me_); }
  WindowBinding binding() const {
    return {.region = region_.local,
            .start = KeyAddress(kBase),
            .length = 64,
            .rights = Access::kRemoteWrite,
            .one_touch = true};
  }
  Result<TouchAction, Refusal> Touch(Key key, const StreamSegment& segment) {
    return core_.one_touch.Touch(key, segment, kStream, me_);
  }
  void Advance(uint32_t next) { core_.one_touch.StreamAdvanced(me_.qp, StreamNumber(next)); }
  Translation Write() { return Translate(window_, kBase, 8, AccessKind::kRemoteWrite); }

  RegionKeys region_;
  Key window_;
};

TEST_F(OneTouchKeysTest, AMessageInOrderEndsTheKeyAtOnce) {
  EXPECT_TRUE(IsReady(Write()));
  EXPECT_EQ(Touch(window_, {false, StreamNumber(kNext - 50)}), TouchAction::kPlace);
  EXPECT_TRUE(IsReady(Write()));
  EXPECT_EQ(Touch(window_, kInOrder), TouchAction::kPlaceAndInvalidate);
  EXPECT_TRUE(IsRefused(Write(), Refusal::kNotValid));
  EXPECT_TRUE(FailsWith(Touch(window_, kInOrder), Refusal::kNotValid));
  EXPECT_EQ(EntryOf(region_.local).region.bound_windows, 0u);
}

TEST_F(OneTouchKeysTest, AMessageThatEndedEarlyEndsTheKeyWhenTheStreamCatchesUp) {
  EXPECT_EQ(Touch(window_, kEarly), TouchAction::kPlaceAndRemember);
  EXPECT_EQ(core_.one_touch.remembered_count(), 1u);
  EXPECT_TRUE(core_.IsConsistent());
  Advance(kNext + 99);            // the last byte itself is still missing
  EXPECT_TRUE(IsReady(Write()));  // earlier segments of the message still arrive
  Advance(kNext + 100);
  EXPECT_TRUE(IsRefused(Write(), Refusal::kNotValid));
  EXPECT_EQ(core_.one_touch.remembered_count(), 0u);
}

TEST_F(OneTouchKeysTest, SegmentsUpToTheEndOfTheMessageMayBePartsOfIt) {
  const auto may_be = [this](uint32_t last_byte, QpNumber qp) {
    return core_.one_touch.MayBePart(window_, StreamNumber(last_byte), qp);
  };
  EXPECT_FALSE(may_be(kNext, me_.qp));
  EXPECT_EQ(Touch(window_, kEarly), TouchAction::kPlaceAndRemember);
  EXPECT_TRUE(may_be(kNext, me_.qp));
  EXPECT_TRUE(may_be(kNext + 99, me_.qp));
  EXPECT_FALSE(may_be(kNext + 100, me_.qp));
  EXPECT_FALSE(may_be(kNext, QpNumber(2)));
  EXPECT_FALSE(core_.one_touch.MayBePart(region_.remote, StreamNumber(kNext), me_.qp));
  Advance(kNext + 100);
  EXPECT_FALSE(may_be(kNext, me_.qp));
}

TEST_F(OneTouchKeysTest, ASecondMessageIsRefusedAndEndsTheKey) {
  EXPECT_EQ(Touch(window_, kEarly), TouchAction::kPlaceAndRemember);
  EXPECT_EQ(Touch(window_, End(kNext + 200)), TouchAction::kInvalidateAndTerminate);
  EXPECT_TRUE(IsRefused(Write(), Refusal::kNotValid));
  Advance(kNext + 500);
  EXPECT_EQ(core_.one_touch.remembered_count(), 0u);
}

TEST_F(OneTouchKeysTest, ASegmentOutsideTheWindowChangesNothing) {
  EXPECT_EQ(Touch(window_, End(kNext + 1000)), TouchAction::kDrop);
  EXPECT_EQ(Touch(window_, End(kNext - 2)), TouchAction::kDrop);
  EXPECT_TRUE(IsReady(Write()));
  EXPECT_EQ(core_.one_touch.remembered_count(), 0u);
  EXPECT_EQ(Touch(window_, kInOrder), TouchAction::kPlaceAndInvalidate);
}

TEST_F(OneTouchKeysTest, ALateStreamDoesNotEndTheNextGeneration) {
  const Key old = window_;
  EXPECT_EQ(Touch(old, kEarly), TouchAction::kPlaceAndRemember);
  Bind();
  EXPECT_NE(window_, old);
  Advance(kNext + 100);
  EXPECT_TRUE(IsReady(Write()));
  EXPECT_TRUE(FailsWith(Touch(old, kInOrder), Refusal::kStaleVariant));
}

TEST_F(OneTouchKeysTest, ALateStreamDoesNotEndATouchedNextGeneration) {
  EXPECT_EQ(Touch(window_, kEarly), TouchAction::kPlaceAndRemember);
  Bind();
  EXPECT_EQ(Touch(window_, End(kNext + 300)), TouchAction::kPlaceAndRemember);
  Advance(kNext + 100);
  EXPECT_TRUE(IsReady(Write()));
  EXPECT_EQ(core_.one_touch.remembered_count(), 1u);
  Advance(kNext + 301);
  EXPECT_TRUE(IsRefused(Write(), Refusal::kNotValid));
}

TEST_F(OneTouchKeysTest, ARecordOfADestroyedKeyHasNoEffect) {
  EXPECT_EQ(Touch(window_, kEarly), TouchAction::kPlaceAndRemember);
  ASSERT_TRUE(Succeeds(core_.windows.Deallocate(window_)));
  Advance(kNext + 100);
  EXPECT_EQ(core_.one_touch.remembered_count(), 0u);
  EXPECT_TRUE(FailsWith(Touch(window_, kInOrder), Refusal::kNoSuchKey));
}

TEST_F(OneTouchKeysTest, StreamsOfOtherQueuePairsEndNothing) {
  EXPECT_EQ(Touch(window_, kEarly), TouchAction::kPlaceAndRemember);
  core_.one_touch.StreamAdvanced(QpNumber(99), StreamNumber(kNext + 500));
  EXPECT_TRUE(IsReady(Write()));
  EXPECT_EQ(core_.one_touch.remembered_count(), 1u);
}

TEST_F(OneTouchKeysTest, AKeyStaysTouchedWhenItsStreamEnds) {
  EXPECT_EQ(Touch(window_, kEarly), TouchAction::kPlaceAndRemember);
  core_.one_touch.StreamEnded(me_.qp);
  EXPECT_EQ(core_.one_touch.remembered_count(), 0u);
  Advance(kNext + 500);
  EXPECT_TRUE(EntryOf(window_).touched);
  EXPECT_EQ(Touch(window_, kInOrder), TouchAction::kInvalidateAndTerminate);
}

TEST_F(OneTouchKeysTest, TheStreamMayWrapBeforeItCatchesUp) {
  const StreamPosition stream{StreamNumber(UINT32_MAX - 10), 1000};
  EXPECT_EQ(core_.one_touch.Touch(window_, End(20), stream, me_), TouchAction::kPlaceAndRemember);
  Advance(UINT32_MAX);
  Advance(20);
  EXPECT_TRUE(IsReady(Write()));
  Advance(21);
  EXPECT_TRUE(IsRefused(Write(), Refusal::kNotValid));
}

TEST_F(OneTouchKeysTest, OneTouchRegionsEndTheSameWay) {
  const RegionSpec spec{.pd = pd_,
                        .start = KeyAddress(kBase),
                        .length = 64,
                        .rights = kLocal | Access::kRemoteWrite,
                        .one_touch = true};
  const auto keys = core_.regions.Register(spec, LinearBacking{PhysicalAddress(kBase)});
  ASSERT_TRUE(Succeeds(keys));
  EXPECT_EQ(Touch(keys->remote, kInOrder), TouchAction::kPlaceAndInvalidate);
  EXPECT_TRUE(
      IsRefused(Translate(keys->remote, kBase, 8, AccessKind::kRemoteWrite), Refusal::kNotValid));
  EXPECT_TRUE(Succeeds(core_.regions.Deregister(keys->local)));
}

TEST_F(OneTouchKeysTest, ASpentRegionIsNotSwappedIn) {
  EntryOf(region_.local).one_touch = true;
  EXPECT_EQ(Touch(region_.remote, kEarly), TouchAction::kPlaceAndRemember);
  ASSERT_TRUE(Succeeds(core_.regions.SwapOut(region_.local)));
  Advance(kNext + 100);
  EXPECT_TRUE(FailsWith(core_.regions.SwapIn(region_.local), MemoryError::kWrongState));
  EXPECT_TRUE(
      IsRefused(Translate(region_.remote, kBase, 8, AccessKind::kRemoteWrite), Refusal::kNotValid));
}

TEST_F(OneTouchKeysTest, IgnoresOrdinaryAndUnknownKeys) {
  EXPECT_EQ(Touch(region_.remote, kInOrder), TouchAction::kPlace);
  EXPECT_TRUE(IsReady(Translate(region_.remote, kBase, 8, AccessKind::kRemoteWrite)));
  EXPECT_TRUE(FailsWith(Touch(Key(), kInOrder), Refusal::kNoSuchKey));
}

TEST_F(OneTouchKeysTest, AHeldKeyServesOnlyItsReplayUntilReleased) {
  EXPECT_EQ(AsReady(Write())->use, KeyUse::kOnce);
  core_.one_touch.Hold(window_);
  EXPECT_EQ(AsReady(Write())->use, KeyUse::kSpent);
  EXPECT_TRUE(core_.IsConsistent());
  core_.one_touch.Release(window_);
  EXPECT_TRUE(IsRefused(Write(), Refusal::kNotValid));
  core_.one_touch.Release(window_);  // may be called late
}

// For its owner, a held key has ended.
TEST_F(OneTouchKeysTest, TheRegionOfAHeldWindowMayBeDeregistered) {
  core_.one_touch.Hold(window_);
  EXPECT_TRUE(Succeeds(core_.regions.Deregister(region_.local)));
  EXPECT_TRUE(IsRefused(Write(), Refusal::kNotValid));
  EXPECT_TRUE(core_.IsConsistent());
}

// A refused call changes nothing: the message that holds the key may still be replayed.
TEST_F(OneTouchKeysTest, AHeldWindowOutlivesARefusedDeregistrationOfItsRegion) {
  core_.one_touch.Hold(window_);
  const Key other = *core_.windows.Allocate(pd_, WindowType::k2B);
  WindowBinding wanted = binding();
  wanted.variant = KeyVariant(static_cast<uint8_t>(other.variant().value() + 1));
  ASSERT_TRUE(core_.windows.Bind(other, wanted, me_).has_value());
  EXPECT_TRUE(FailsWith(core_.regions.Deregister(region_.local), MemoryError::kInUse));
  EXPECT_EQ(AsReady(Write())->use, KeyUse::kSpent);
  EXPECT_TRUE(core_.IsConsistent());
}

TEST_F(OneTouchKeysTest, AHeldWindowOfType2MayBeBoundAgainButNotInvalidated) {
  for (const bool rebind : {false, true}) {
    const Key window = *core_.windows.Allocate(pd_, WindowType::k2B);
    WindowBinding wanted = binding();
    wanted.variant = KeyVariant(static_cast<uint8_t>(window.variant().value() + 1));
    const Key bound = *core_.windows.Bind(window, wanted, me_);
    core_.one_touch.Hold(bound);
    if (rebind) {
      wanted.variant = KeyVariant(static_cast<uint8_t>(window.variant().value() + 2));
      EXPECT_TRUE(core_.windows.Bind(bound, wanted, me_).has_value());
    } else {
      EXPECT_TRUE(FailsWith(core_.windows.Invalidate(bound, me_), Refusal::kNotValid));
      EXPECT_TRUE(
          IsRefused(Translate(bound, kBase, 8, AccessKind::kRemoteWrite), Refusal::kNotValid));
    }
    EXPECT_TRUE(core_.IsConsistent());
  }
}

TEST_F(OneTouchKeysTest, ReleaseDoesNotEndTheNextGeneration) {
  core_.one_touch.Hold(window_);
  const Key before = window_;
  Bind();
  core_.one_touch.Release(before);
  EXPECT_EQ(AsReady(Write())->use, KeyUse::kOnce);
}

}  // namespace
}  // namespace verbena::memory
