#include "transport/common/responder_checks.h"

#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"
#include "tests/support/wire_packets.h"

namespace verbena::transport {
namespace {

using memory::Refusal;
using wire::Operation;
using wire::Position;

constexpr uint32_t kMtu = 256;

const wire::OpcodeInfo& InfoOf(Operation operation, Position position = Position::kOnly) {
  return *wire::FindOpcode(wire::Service::kRc, operation, position);
}

// The length check of a packet with that payload and DMA length.
std::optional<NakReason> LengthOf(Operation operation, Position position, size_t payload,
                                  uint32_t dma_length, uint32_t remaining = 0,
                                  uint64_t address = 0) {
  const wire::OpcodeInfo& info = InfoOf(operation, position);
  const wire::AllHeaders headers{
      .bth = {.opcode = info.opcode},
      .reth = {.address = KeyAddress(address), .dma_length = dma_length}};
  const auto bytes = wire::BuildPacket(info, headers, std::vector<std::byte>(payload));
  const InboundMessage message{
      .is_open = true, .operation = operation, .key = {}, .next = {}, .remaining = remaining};
  return CheckLength(*wire::Packet::Parse(bytes), message, kMtu);
}

TEST(ResponderChecksTest, HalfOfThePsnCircleIsDuplicates) {
  const Psn expected(5);
  EXPECT_EQ(PlaceOf(expected, expected), PsnPlace::kExpected);
  EXPECT_EQ(PlaceOf(expected + 1, expected), PsnPlace::kAhead);
  EXPECT_EQ(PlaceOf(expected + 0x7FFFFF, expected), PsnPlace::kAhead);
  EXPECT_EQ(PlaceOf(expected + 0x800000, expected), PsnPlace::kDuplicate);
  EXPECT_EQ(PlaceOf(expected - 6, expected), PsnPlace::kDuplicate);
}

TEST(ResponderChecksTest, AMessageTakesAtLeastOnePsn) {
  EXPECT_EQ(PsnCountOf(0, kMtu), 1u);
  EXPECT_EQ(PsnCountOf(1, kMtu), 1u);
  EXPECT_EQ(PsnCountOf(kMtu, kMtu), 1u);
  EXPECT_EQ(PsnCountOf(kMtu + 1, kMtu), 2u);
  EXPECT_EQ(PsnCountOf(kMessageMax, kMtu), 1u << 23);
}

TEST(ResponderChecksTest, OpcodesMustBeInSequence) {
  const NakReason no = ResponderError::kOpcodeOutOfSequence;
  const InboundMessage none;
  InboundMessage writing;
  writing.is_open = true;
  writing.operation = Operation::kWrite;
  for (const Position position : {Position::kFirst, Position::kOnly}) {
    EXPECT_EQ(CheckOpcodeSequence(InfoOf(Operation::kWrite, position), none), std::nullopt);
    EXPECT_EQ(CheckOpcodeSequence(InfoOf(Operation::kWrite, position), writing), no);
  }
  for (const Position position : {Position::kMiddle, Position::kLast}) {
    EXPECT_EQ(CheckOpcodeSequence(InfoOf(Operation::kWrite, position), none), no);
    EXPECT_EQ(CheckOpcodeSequence(InfoOf(Operation::kWrite, position), writing), std::nullopt);
    EXPECT_EQ(CheckOpcodeSequence(InfoOf(Operation::kSend, position), writing), no);
  }
  EXPECT_EQ(CheckOpcodeSequence(InfoOf(Operation::kReadRequest), writing), no);
}

TEST(ResponderChecksTest, EachOperationNeedsItsOwnRight) {
  struct Row {
    Operation operation;
    Access needed;
  };
  for (const Row& row : {Row{Operation::kWrite, Access::kRemoteWrite},
                         Row{Operation::kAtomicWrite, Access::kRemoteWrite},
                         Row{Operation::kFlush, Access::kRemoteWrite},
                         Row{Operation::kReadRequest, Access::kRemoteRead},
                         Row{Operation::kCompareSwap, Access::kRemoteAtomic},
                         Row{Operation::kFetchAdd, Access::kRemoteAtomic}}) {
    EXPECT_EQ(CheckAllowed(InfoOf(row.operation), row.needed), std::nullopt);
    EXPECT_EQ(CheckAllowed(InfoOf(row.operation), Access::kRemote.Without(row.needed)),
              NakReason(ResponderError::kNotAllowedOnQp));
  }
  EXPECT_EQ(CheckAllowed(InfoOf(Operation::kSend), Access::kNone), std::nullopt);
}

TEST(ResponderChecksTest, LengthsOfAWriteAddUp) {
  using enum Position;
  const auto write = [](Position position, size_t payload, uint32_t dma_length,
                        uint32_t remaining = 0) {
    return !LengthOf(Operation::kWrite, position, payload, dma_length, remaining).has_value();
  };
  EXPECT_TRUE(write(kOnly, 0, 0));
  EXPECT_TRUE(write(kOnly, kMtu, kMtu));
  EXPECT_FALSE(write(kOnly, 8, 7));
  EXPECT_FALSE(write(kOnly, kMtu + 4, kMtu + 4));
  EXPECT_TRUE(write(kFirst, kMtu, kMtu + 1));
  EXPECT_TRUE(write(kFirst, kMtu, kMessageMax));
  EXPECT_FALSE(write(kFirst, kMtu, kMtu));
  EXPECT_FALSE(write(kFirst, kMtu, kMessageMax + 1));
  EXPECT_FALSE(write(kFirst, kMtu - 4, kMtu + 1));
  EXPECT_TRUE(write(kMiddle, kMtu, 0, kMtu + 1));
  EXPECT_FALSE(write(kMiddle, kMtu, 0, kMtu));
  EXPECT_TRUE(write(kLast, 3, 0, 3));
  EXPECT_FALSE(write(kLast, 3, 0, 4));
  EXPECT_FALSE(write(kLast, 0, 0, 0));
}

TEST(ResponderChecksTest, LengthsOfReadsAndAtomicWrites) {
  const NakReason bad = ResponderError::kBadLength;
  const auto only = [](Operation operation, size_t payload, uint32_t length, uint64_t address = 0) {
    return LengthOf(operation, Position::kOnly, payload, length, 0, address);
  };
  EXPECT_EQ(only(Operation::kReadRequest, 0, 0), std::nullopt);
  EXPECT_EQ(only(Operation::kReadRequest, 0, kMessageMax), std::nullopt);
  EXPECT_EQ(only(Operation::kReadRequest, 0, kMessageMax + 1), bad);
  EXPECT_EQ(only(Operation::kAtomicWrite, 8, 8, 16), std::nullopt);
  EXPECT_EQ(only(Operation::kAtomicWrite, 8, 4, 16), bad);
  EXPECT_EQ(only(Operation::kAtomicWrite, 4, 8, 16), bad);
  EXPECT_EQ(only(Operation::kAtomicWrite, 8, 8, 12), NakReason(ResponderError::kMisaligned));
}

class ResponderKeyTest : public memory::MemoryFixture {
 protected:
  static constexpr uint64_t kBase = 0x100000;

  std::optional<NakReason> Flush(uint8_t placement, uint8_t selectivity, const RemoteRange& range) {
    return CheckFlush({.placement = placement, .selectivity = selectivity}, range, me_, core_);
  }

  const Key key_ = LinearRegion(kBase, memory::kPage).remote;
};

TEST_F(ResponderKeyTest, TheKeyOfAnEmptyRequestIsNotChecked) {
  const auto check = [this](Key key, uint64_t start, uint32_t length) {
    return CheckKey({key, KeyAddress(start), length}, memory::AccessKind::kRemoteRead, me_, core_);
  };
  EXPECT_EQ(check(Key(0), 0, 0), std::nullopt);
  EXPECT_EQ(check(Key(0), 0, 1), NakReason(Refusal::kNoSuchKey));
  EXPECT_EQ(check(key_, kBase, memory::kPage), std::nullopt);
  EXPECT_EQ(check(key_, kBase + 1, memory::kPage), NakReason(Refusal::kOutOfRange));
  EXPECT_EQ(check(key_, memory::kMax, 2), NakReason(Refusal::kOutOfRange));
}

TEST_F(ResponderKeyTest, AFlushChecksItsKeyItsRangeAndPersistence) {
  constexpr uint8_t kVisible = wire::Feth::kGlobalVisibility;
  constexpr uint8_t kPersistent = wire::Feth::kPersistence;
  const RemoteRange inside{key_, KeyAddress(kBase), 8};
  const RemoteRange outside{key_, KeyAddress(0), 8};
  EXPECT_EQ(Flush(kVisible, wire::Feth::kRange, inside), std::nullopt);
  EXPECT_EQ(Flush(kVisible, wire::Feth::kRange, outside), NakReason(Refusal::kOutOfRange));
  EXPECT_EQ(Flush(kVisible, wire::Feth::kWholeRegion, outside), std::nullopt);
  EXPECT_EQ(Flush(kVisible, wire::Feth::kWholeRegion, {Key(kBase), {}, 0}),
            NakReason(Refusal::kNoSuchKey));
  EXPECT_EQ(Flush(kPersistent, wire::Feth::kRange, inside),
            NakReason(ResponderError::kNoPersistence));
  EXPECT_EQ(Flush(kVisible | kPersistent, wire::Feth::kRange, inside),
            NakReason(ResponderError::kNoPersistence));
  for (const uint8_t placement : std::initializer_list<uint8_t>{0, 4, 8}) {
    EXPECT_EQ(Flush(placement, wire::Feth::kRange, inside),
              NakReason(ResponderError::kReservedFlush));
  }
  EXPECT_EQ(Flush(kVisible, 2, inside), NakReason(ResponderError::kReservedFlush));
  const Key read_only =
      LinearRegion(kBase, memory::kPage, memory::kLocal | Access::kRemoteRead).remote;
  EXPECT_EQ(Flush(kVisible, wire::Feth::kRange, {read_only, KeyAddress(kBase), 8}),
            NakReason(Refusal::kNoRight));
}

}  // namespace
}  // namespace verbena::transport
