#include "memory/spaces/segment_table.h"

#include <array>
#include <optional>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

Segment At(uint64_t start, uint64_t length, uint64_t base, Access rights = kLocal) {
  return {EffectiveAddress(start), length, VirtualAddress(base), rights};
}

class SegmentTableTest : public testing::Test {
 protected:
  ~SegmentTableTest() override { EXPECT_TRUE(table_.IsConsistent()); }

  MemoryResult<void> Add(const Segment& segment) {
    return table_.Update(SegmentChange::kAdd, segment);
  }
  bool May(uint64_t start, uint64_t length, Access needed) const {
    return table_.MayAccess(EffectiveAddress(start), length, needed);
  }
  std::optional<uint64_t> VirtualOf(uint64_t address) const {
    const auto place = table_.Find(EffectiveAddress(address));
    return place.has_value() ? std::optional(place->address.value()) : std::nullopt;
  }

  SegmentTable table_;
};

TEST_F(SegmentTableTest, TranslatesWithinASegment) {
  ASSERT_TRUE(Succeeds(Add(At(100, 50, 7000))));
  EXPECT_EQ(VirtualOf(99), std::nullopt);
  EXPECT_EQ(VirtualOf(100), 7000u);
  EXPECT_EQ(VirtualOf(149), 7049u);
  EXPECT_EQ(VirtualOf(150), std::nullopt);
  EXPECT_EQ(table_.Find(EffectiveAddress(149))->left, 1u);
}

TEST_F(SegmentTableTest, BytesOutsideEndAtTheNextSegment) {
  ASSERT_TRUE(Succeeds(Add(At(100, 50, 7000))));
  EXPECT_EQ(table_.LengthOutside(EffectiveAddress(90), 5), 5u);
  EXPECT_EQ(table_.LengthOutside(EffectiveAddress(90), 10), 10u);
  EXPECT_EQ(table_.LengthOutside(EffectiveAddress(90), 11), 10u);
  EXPECT_EQ(table_.LengthOutside(EffectiveAddress(90), kMax), 10u);
  EXPECT_EQ(table_.LengthOutside(EffectiveAddress(150), kMax), kMax);
}

TEST_F(SegmentTableTest, ASegmentNamesItsGuest) {
  Segment segment = At(100, 50, 7000);
  segment.guest = GuestKey(9);
  ASSERT_TRUE(Succeeds(Add(segment)));
  ASSERT_TRUE(Succeeds(table_.Update(SegmentChange::kDelete, At(110, 10, 0))));
  EXPECT_EQ(table_.Find(EffectiveAddress(105))->guest, GuestKey(9));
  EXPECT_EQ(table_.Find(EffectiveAddress(125))->guest, GuestKey(9));
}

TEST_F(SegmentTableTest, AddRefusesOverlapsAndChangesNothing) {
  ASSERT_TRUE(Succeeds(Add(At(100, 50, 7000))));
  EXPECT_TRUE(FailsWith(Add(At(149, 10, 0)), MemoryError::kOverlap));
  EXPECT_TRUE(FailsWith(Add(At(90, 11, 0)), MemoryError::kOverlap));
  EXPECT_TRUE(Succeeds(Add(At(150, 10, 0))));
  EXPECT_EQ(VirtualOf(149), 7049u);
  EXPECT_EQ(table_.size(), 2u);
}

TEST_F(SegmentTableTest, DeleteCutsAHoleIntoASegment) {
  ASSERT_TRUE(Succeeds(Add(At(100, 50, 7000))));
  ASSERT_TRUE(Succeeds(table_.Update(SegmentChange::kDelete, At(110, 10, 0))));
  EXPECT_EQ(VirtualOf(109), 7009u);
  EXPECT_EQ(VirtualOf(110), std::nullopt);
  EXPECT_EQ(VirtualOf(119), std::nullopt);
  EXPECT_EQ(VirtualOf(120), 7020u);
  EXPECT_TRUE(
      FailsWith(table_.Update(SegmentChange::kDelete, At(110, 10, 0)), MemoryError::kNotMapped));
}

TEST_F(SegmentTableTest, ModifyNeedsSegmentsWithoutAGap) {
  ASSERT_TRUE(Succeeds(Add(At(100, 50, 7000))));
  ASSERT_TRUE(Succeeds(Add(At(160, 50, 8000))));
  EXPECT_TRUE(
      FailsWith(table_.Update(SegmentChange::kModify, At(140, 30, 0)), MemoryError::kNotMapped));
  EXPECT_EQ(VirtualOf(145), 7045u);
  ASSERT_TRUE(Succeeds(table_.Update(SegmentChange::kModify, At(100, 10, 9000))));
  EXPECT_EQ(VirtualOf(109), 9009u);
  EXPECT_EQ(VirtualOf(110), 7010u);
}

TEST_F(SegmentTableTest, EmptyAndWrappingSegmentsAreRefused) {
  EXPECT_TRUE(FailsWith(Add(At(100, 0, 0)), MemoryError::kOutOfRange));
  EXPECT_TRUE(FailsWith(Add(At(kMax, 2, 0)), MemoryError::kWraps));
  EXPECT_TRUE(FailsWith(Add(At(0, 2, kMax)), MemoryError::kWraps));
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(SegmentTableTest, ASegmentMayReachTheLastByteOfAll) {
  ASSERT_TRUE(Succeeds(Add(At(kMax - 9, 10, kMax - 9))));
  EXPECT_EQ(VirtualOf(kMax), kMax);
  EXPECT_TRUE(May(kMax - 9, 10, Access::kLocalRead));
  EXPECT_FALSE(May(kMax - 9, 11, Access::kLocalRead));  // wraps
  EXPECT_FALSE(May(kMax - 10, 11, Access::kLocalRead));
}

TEST_F(SegmentTableTest, AnAccessNeedsTheRightInEverySegmentItCrosses) {
  ASSERT_TRUE(Succeeds(Add(At(100, 50, 7000))));
  ASSERT_TRUE(Succeeds(Add(At(150, 50, 9000, Access::kLocalRead))));
  EXPECT_TRUE(May(100, 100, Access::kLocalRead));
  EXPECT_TRUE(May(100, 50, kLocal));
  EXPECT_FALSE(May(100, 51, kLocal));
  EXPECT_FALSE(May(100, 101, Access::kLocalRead));
  EXPECT_TRUE(May(100, 100, Access::kNone));
}

TEST_F(SegmentTableTest, NoBytesNeedNoSegment) { EXPECT_TRUE(May(5, 0, kLocal)); }

// 256 bytes, each with what the table should say of it.
class ByteMap {
 public:
  struct Byte {
    uint64_t address;
    Access rights;
  };
  static constexpr uint64_t kSize = 256;

  MemoryError Apply(SegmentChange change, const Segment& segment, bool& ok) {
    const uint64_t start = segment.start.value();
    uint64_t mapped = 0;
    for (uint64_t i = 0; i < segment.length; ++i) mapped += bytes_[start + i].has_value() ? 1 : 0;
    ok = change == SegmentChange::kAdd      ? mapped == 0
         : change == SegmentChange::kModify ? mapped == segment.length
                                            : mapped > 0;
    if (!ok) return change == SegmentChange::kAdd ? MemoryError::kOverlap : MemoryError::kNotMapped;
    for (uint64_t i = 0; i < segment.length; ++i) {
      if (change == SegmentChange::kDelete) {
        bytes_[start + i].reset();
      } else {
        bytes_[start + i] = Byte{segment.base.value() + i, segment.rights};
      }
    }
    return {};
  }

  const std::optional<Byte>& at(uint64_t address) const { return bytes_[address]; }
  bool MayAccess(uint64_t start, uint64_t length, Access needed) const {
    for (uint64_t i = start; i < start + length; ++i) {
      if (!bytes_[i].has_value() || !bytes_[i]->rights.Has(needed)) return false;
    }
    return true;
  }

 private:
  std::array<std::optional<Byte>, kSize> bytes_;
};

TEST_F(SegmentTableTest, AgreesWithAByteMapAfterEveryHistory) {
  Random random(3);
  ByteMap model;
  int done = 0;
  for (int step = 0; step < 3000; ++step) {
    const uint64_t start = random.Below(ByteMap::kSize);
    const uint64_t length = random.Between(1, std::min<uint64_t>(40, ByteMap::kSize - start));
    const auto rights = Access::FromBits(static_cast<uint8_t>(random.Below(4)));
    const Segment segment = At(start, length, random.Below(1 << 20), rights);
    const auto change = static_cast<SegmentChange>(random.Below(3));
    bool ok = false;
    const MemoryError error = model.Apply(change, segment, ok);
    const auto result = table_.Update(change, segment);
    ASSERT_TRUE(ok ? Succeeds(result) : FailsWith(result, error)) << "step " << step;
    done += ok ? 1 : 0;

    const uint64_t probe = random.Below(ByteMap::kSize);
    const auto place = table_.Find(EffectiveAddress(probe));
    ASSERT_EQ(place.has_value(), model.at(probe).has_value());
    if (place.has_value()) {
      ASSERT_EQ(place->address.value(), model.at(probe)->address);
      ASSERT_EQ(place->rights, model.at(probe)->rights);
      // `left` bytes from here go on at the same distance.
      ASSERT_EQ(model.at(probe + place->left - 1)->address,
                place->address.value() + place->left - 1);
    }
    const uint64_t span = random.Between(1, ByteMap::kSize - probe);
    const auto needed = Access::FromBits(static_cast<uint8_t>(random.Below(4)));
    ASSERT_EQ(May(probe, span, needed), model.MayAccess(probe, span, needed));
    ASSERT_TRUE(table_.IsConsistent());
  }
  EXPECT_GT(done, 500);
}

}  // namespace
}  // namespace verbena::memory
