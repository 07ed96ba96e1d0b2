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

// Payloads of a byte stream are longer than a translation has spans for.
class LongPlacementTest : public PlacementTest {
 protected:
  static constexpr uint64_t kPages = 20;
  static constexpr uint64_t kOffset = 77;
  static constexpr size_t kLength = 18 * kPage + 500;

  // A region whose pages are scattered: the last page of memory is its first one.
  LongPlacementTest() {
    std::vector<memory::PhysicalAddress> list;
    for (uint64_t i = kPages; i > 0; --i) {
      list.emplace_back(reinterpret_cast<uintptr_t>(pages_.page(i - 1)));
    }
    const memory::RegionSpec spec{.pd = pd_,
                                  .start = KeyAddress(0),
                                  .length = kPages * kPage,
                                  .rights = Access::kAll,
                                  .zero_based = true};
    const auto keys = core_.regions.Register(spec, memory::PageListBacking{.pages = list});
    EXPECT_TRUE(Succeeds(keys));
    scattered_ = *keys;
  }
  std::byte& ByteAt(uint64_t offset) const {
    return pages_.page(kPages - 1 - offset / kPage)[offset % kPage];
  }
  Bytes BytesAt(uint64_t offset, size_t size) const {
    Bytes bytes;
    for (size_t i = 0; i < size; ++i) bytes.push_back(ByteAt(offset + i));
    return bytes;
  }
  RemoteRange All() const { return {scattered_.remote, KeyAddress(kOffset), kLength}; }
  std::array<Sge, 2> Lists() const {
    return {Sge{.address = kOffset, .length = 3, .key = scattered_.local},
            Sge{.address = kOffset + 3, .length = kLength - 3, .key = scattered_.local}};
  }

  memory::PagesForTest pages_{kPages};
  memory::RegionKeys scattered_;
};

TEST_F(LongPlacementTest, AWriteIsPlacedPieceByPiece) {
  const Bytes bytes = Pattern(kLength);
  EXPECT_TRUE(IsPlaced(Write(All(), bytes)));
  EXPECT_EQ(BytesAt(kOffset, kLength), bytes);
}

TEST_F(LongPlacementTest, ASendIsScatteredPieceByPiece) {
  const Bytes bytes = Pattern(kLength);
  const auto sges = Lists();
  queue::SgeCursor cursor(sges);
  EXPECT_TRUE(IsPlaced(ScatterSend(cursor, bytes, 0, me_, core_)));
  EXPECT_EQ(cursor.offset(), kLength);
  EXPECT_EQ(BytesAt(kOffset, kLength), bytes);
}

TEST_F(LongPlacementTest, BytesAreGatheredAndReadPieceByPiece) {
  for (uint64_t i = 0; i < kPages * kPage; ++i) ByteAt(i) = static_cast<std::byte>(i % 251);
  const auto sges = Lists();
  Bytes gathered(kLength);
  EXPECT_TRUE(IsPlaced(GatherInto(queue::SgeCursor(sges), gathered, 0, me_, core_)));
  EXPECT_EQ(gathered, BytesAt(kOffset, kLength));
  Bytes read(kLength);
  EXPECT_TRUE(IsPlaced(ReadInto(All(), read, me_, core_)));
  EXPECT_EQ(read, gathered);
}

TEST_F(LongPlacementTest, APageThatIsMissingInTheMiddleIsALoss) {
  const auto lose = [&](auto access) {
    pages_.Protect(9, PROT_NONE);
    const auto answer = access();
    pages_.Protect(9, PROT_READ | PROT_WRITE);
    const std::string fault = FaultIn(answer);
    const uint64_t page = kPages - 1 - 9;
    EXPECT_TRUE(Succeeds(core_.regions.MapPages(scattered_.local, page, 1, std::nullopt, true)));
    return fault;
  };
  Bytes bytes = Pattern(kLength);
  const auto sges = Lists();
  queue::SgeCursor cursor(sges);
  EXPECT_EQ(lose([&] { return Write(All(), bytes); }), "lost");
  EXPECT_EQ(lose([&] { return ScatterSend(cursor, bytes, 0, me_, core_); }), "lost");
  EXPECT_EQ(cursor.offset(), 0);
  EXPECT_EQ(lose([&] { return GatherInto(cursor, bytes, 0, me_, core_); }), "lost");
  EXPECT_EQ(lose([&] { return ReadInto(All(), bytes, me_, core_); }), "lost");
  EXPECT_TRUE(IsPlaced(ReadInto(All(), bytes, me_, core_)));
}

TEST_F(PlacementTest, BytesToSendThatAreAbsentAreRequestedWithThoseAhead) {
  TakePagesAway(1, 3);
  const std::array sges = {SgeOf(kPage, 3 * kPage)};
  Bytes bytes(100);
  const Placement gathered = GatherInto(queue::SgeCursor(sges), bytes, 2 * kPage, me_, core_);
  const auto* const fault = std::get_if<memory::Fault>(&gathered);
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fault->first_page, 1u);
  EXPECT_EQ(fault->page_count, 2u);
  EXPECT_FALSE(fault->for_write);
  const Placement read = ReadInto(Range(kPage, 3 * kPage), bytes, me_, core_);
  const auto* const all = std::get_if<memory::Fault>(&read);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(all->page_count, 3u);
}

TEST_F(PlacementTest, BytesOfOthersAreNotSent) {
  Bytes bytes(8);
  std::array stranger = {SgeOf(0, 8)};
  stranger[0].key = Key(0);
  EXPECT_EQ(ReasonOf(GatherInto(queue::SgeCursor(stranger), bytes, 0, me_, core_)),
            NakReason(Refusal::kNoSuchKey, RefusedKey::kOwn));
  EXPECT_EQ(ReasonOf(ReadInto(Range(4 * kPage - 1, 8), bytes, me_, core_)),
            NakReason(Refusal::kOutOfRange));
}

TEST_F(PlacementTest, OnlyTheMessageThatTouchedAKeyMayUseItAgain) {
  EntryOf(region_.remote).one_touch = true;
  EntryOf(region_.remote).touched = true;
  Bytes bytes = Pattern(8);
  EXPECT_EQ(ReasonOf(Write(Range(0, 8), bytes)), NakReason(Refusal::kNotValid));
  EXPECT_TRUE(IsPlaced(PlaceWrite(Range(0, 8), bytes, me_, core_, SpentKey::kAllowed)));
  EXPECT_EQ(ReasonOf(ReadInto(Range(0, 8), bytes, me_, core_)), NakReason(Refusal::kNotValid));
  EXPECT_TRUE(IsPlaced(ReadInto(Range(0, 8), bytes, me_, core_, SpentKey::kAllowed)));
}

}  // namespace
}  // namespace verbena::transport
