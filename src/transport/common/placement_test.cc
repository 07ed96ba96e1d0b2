#include "transport/common/placement.h"

#include <sys/mman.h>

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/responder_fixture.h"

namespace verbena::transport {
namespace {

using memory::kPage;
using memory::Refusal;

class PlacementTest : public ResponderFixture {
 protected:
  RemoteRange Range(uint64_t offset, uint32_t length) const {
    return {region_.remote, KeyAddress(AddressOf(offset)), length};
  }
  Placement Write(const RemoteRange& rest, const Bytes& payload) {
    return PlaceWrite(rest, payload, me_, core_);
  }
  // The kind of the fault in the answer.
  template <class Answer>
  static std::string FaultIn(const Answer& answer) {
    const auto* const fault = std::get_if<memory::Fault>(&answer);
    return fault == nullptr ? "none" : fault->is_loss ? "lost" : "absent";
  }
  // Gathers more spans than a packet can name, so they are copied at once. The first span is in
  // page 0.
  Placement GatherMany() {
    std::vector<Sge> sges;
    for (uint32_t i = 0; i < 12; ++i) sges.push_back(SgeOf(i == 0 ? 0 : kPage + i * 100, 4));
    OutPacket& packet = outbox_.AddPacket();
    return Gather(queue::SgeCursor(sges), 48, 48, me_, core_, packet, outbox_.GatherRoom());
  }
  static bool IsPlaced(const Placement& placement) {
    return std::holds_alternative<Placed>(placement);
  }
  static std::optional<NakReason> ReasonOf(const Placement& placement) {
    const NakReason* const reason = std::get_if<NakReason>(&placement);
    return reason != nullptr ? std::optional(*reason) : std::nullopt;
  }
};

TEST_F(PlacementTest, AWriteCrossesPagesAtAnyByte) {
  const Bytes bytes = Pattern(200);
  EXPECT_TRUE(IsPlaced(Write(Range(kPage - 77, 200), bytes)));
  EXPECT_EQ(Read(kPage - 77, 200), bytes);
  EXPECT_TRUE(IsPlaced(Write({Key(0), KeyAddress(3), 0}, {})));
}

TEST_F(PlacementTest, AbsentPagesOfTheWholeRemainderAreRequested) {
  TakePagesAway(1, 2);
  const Placement placement = Write(Range(kPage, 2 * kPage), Pattern(256));
  const auto* const fault = std::get_if<memory::Fault>(&placement);
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fault->region, region_.local);
  EXPECT_EQ(fault->first_page, 1u);
  EXPECT_EQ(fault->page_count, 2u);
  EXPECT_TRUE(fault->for_write);
  EXPECT_TRUE(IsPlaced(
      Write(Range(0, 3 * kPage), Pattern(256))));  // the absent pages are behind the payload
}

TEST_F(PlacementTest, AWriteBeyondTheRegionIsRefused) {
  EXPECT_EQ(ReasonOf(Write(Range(4 * kPage - 1, 2), Pattern(2))), NakReason(Refusal::kOutOfRange));
}

TEST_F(PlacementTest, AMissingPageIsMarkedAbsent) {
  arena_.Protect(1, PROT_NONE);
  const Placement placement = Write(Range(kPage - 1, 2), Pattern(2));
  const auto* const fault = std::get_if<memory::Fault>(&placement);
  ASSERT_NE(fault, nullptr);
  EXPECT_TRUE(fault->is_loss);
  EXPECT_EQ(fault->first_page, 1u);
  EXPECT_EQ(fault->page_count, 1u);
  EXPECT_TRUE(fault->for_write);
  EXPECT_EQ(FaultIn(Write(Range(kPage, 2), Pattern(2))), "absent");  // the tables know it by now
  arena_.Protect(1, PROT_READ | PROT_WRITE);
  PageIn(1, 1);
  EXPECT_TRUE(IsPlaced(Write(Range(kPage - 1, 2), Pattern(2))));
}

TEST_F(PlacementTest, EveryKindOfAccessMayLoseItsPage) {
  const std::array sges = {SgeOf(8, 16)};
  queue::SgeCursor cursor(sges);
  const auto lose = [&](auto access) {
    PageIn(0, 1);
    arena_.Protect(0, PROT_NONE);
    const auto answer = access();
    arena_.Protect(0, PROT_READ | PROT_WRITE);
    return FaultIn(answer);
  };
  EXPECT_EQ(lose([&] { return Write(Range(0, 8), Pattern(8)); }), "lost");
  EXPECT_EQ(lose([&] { return ScatterSend(cursor, Pattern(16), 0, me_, core_); }), "lost");
  EXPECT_EQ(cursor.offset(), 0u);
  EXPECT_EQ(lose([&] { return PlaceAtomicWrite(Range(16, 8), Pattern(8), me_, core_); }), "lost");
  EXPECT_EQ(lose([&] { return ExecuteAtomic(Range(16, 8), {}, me_, core_); }), "lost");
  EXPECT_EQ(lose([&] { return GatherMany(); }), "lost");
  PageIn(0, 1);
  EXPECT_TRUE(IsPlaced(GatherMany()));
}

TEST_F(PlacementTest, ASendIsScatteredOverUnevenElements) {
  const std::array sges = {SgeOf(5, 3), SgeOf(100, 0), SgeOf(kPage - 1, 9), SgeOf(300, 50)};
  queue::SgeCursor cursor(sges);
  const Bytes bytes = Pattern(20);
  ASSERT_TRUE(IsPlaced(ScatterSend(cursor, std::span(bytes).first(7), 0, me_, core_)));
  EXPECT_EQ(cursor.offset(), 7u);
  ASSERT_TRUE(IsPlaced(ScatterSend(cursor, std::span(bytes).subspan(7), 0, me_, core_)));
  Bytes found = Read(5, 3);
  for (const Bytes& piece : {Read(kPage - 1, 9), Read(300, 8)}) {
    found.insert(found.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(found, bytes);
}

TEST_F(PlacementTest, AScatterThatFaultsOrIsRefusedLeavesTheCursor) {
  TakePagesAway(2, 2);
  const std::array sges = {SgeOf(0, 4), SgeOf(2 * kPage, 2 * kPage)};
  queue::SgeCursor cursor(sges);
  const auto faulting = [&](uint64_t ahead) {
    const Placement placement = ScatterSend(cursor, Pattern(8), ahead, me_, core_);
    const auto* const fault = std::get_if<memory::Fault>(&placement);
    EXPECT_NE(fault, nullptr);
    return fault != nullptr ? fault->page_count : 0;
  };
  EXPECT_EQ(faulting(0), 1u);
  EXPECT_EQ(faulting(4 * kPage), 2u);  // up to the end of the element
  EXPECT_EQ(cursor.offset(), 0u);

  std::array stranger = {SgeOf(0, 8)};
  stranger[0].key = Key(0);
  queue::SgeCursor other(stranger);
  EXPECT_EQ(ReasonOf(ScatterSend(other, Pattern(8), 0, me_, core_)),
            NakReason(memory::Refusal::kNoSuchKey, RefusedKey::kOwn));
  EXPECT_EQ(other.offset(), 0u);
}

TEST_F(PlacementTest, AnAtomicWriteStoresEightBytes) {
  const auto write = [this](const RemoteRange& word) {
    return PlaceAtomicWrite(word, Pattern(8), me_, core_);
  };
  EXPECT_TRUE(IsPlaced(write(Range(16, 8))));
  EXPECT_EQ(Read(16, 8), Pattern(8));
  TakePagesAway(1, 1);
  EXPECT_TRUE(std::holds_alternative<memory::Fault>(write(Range(kPage, 8))));
  EXPECT_EQ(ReasonOf(write({Key(0), KeyAddress(0), 8})), NakReason(Refusal::kNoSuchKey));
}

TEST_F(PlacementTest, AtomicsReturnTheOriginalValue) {
  const auto execute = [this](const RemoteRange& word, const AtomicOperation& operation) {
    return ExecuteAtomic(word, operation, me_, core_);
  };
  SetWord(8, 40);
  EXPECT_EQ(std::get<AtomicDone>(execute(Range(8, 8), {.swap_or_add = 2})).original, 40u);
  EXPECT_EQ(WordAt(8), 42u);
  const AtomicOperation swap{.is_compare_swap = true, .compare = 42, .swap_or_add = 7};
  EXPECT_EQ(std::get<AtomicDone>(execute(Range(8, 8), swap)).original, 42u);
  EXPECT_EQ(std::get<AtomicDone>(execute(Range(8, 8), swap)).original, 7u);
  EXPECT_EQ(WordAt(8), 7u);
  EXPECT_EQ(std::get<NakReason>(execute(Range(4, 8), {})), NakReason(Refusal::kMisaligned));
  TakePagesAway(0, 1);
  EXPECT_TRUE(std::holds_alternative<memory::Fault>(execute(Range(8, 8), {})));
}

}  // namespace
}  // namespace verbena::transport
