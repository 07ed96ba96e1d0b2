#include "verbs/send_translation.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::verbs {
namespace {

using queue::SendOpcode;

constexpr Sge kBytes{.address = 0x1000, .length = 64, .key = Key{0x11}};
constexpr RemoteAddress kRemote{.address = 0x2000, .key = Key{0x22}};

// The element for the queue, without its lists.
template <class Request>
queue::SendWqe WqeOf(const Request& request) {
  SendTranslation translation;
  translation.Set(request);
  const queue::WorkQueueLimits limits{
      .capacity = 1, .sges_max = 4, .inline_max = 64, .pages_max = 4};
  EXPECT_EQ(queue::Validate(translation.request(), limits), std::nullopt);
  return translation.request().wqe;
}

TEST(SendTranslationTest, ASendMayHaveImmediateOrInvalidate) {
  EXPECT_EQ(WqeOf(Send{.id = WrId{5}, .data = kBytes}).opcode, SendOpcode::kSend);
  EXPECT_EQ(WqeOf(Send{.id = WrId{5}}).id, WrId(5));
  const auto immediate = WqeOf(Send{.immediate = Immediate{7}});
  EXPECT_EQ(immediate.opcode, SendOpcode::kSendWithImmediate);
  EXPECT_EQ(immediate.immediate, Immediate(7));
  const auto invalidate = WqeOf(Send{.invalidate = Key{8}});
  EXPECT_EQ(invalidate.opcode, SendOpcode::kSendWithInvalidate);
  EXPECT_EQ(invalidate.invalidate, Key(8));
  const auto datagram =
      WqeOf(Send{.to = Datagram{AddressHandleId{1}, QpNumber{2}, QKey{3}}}).As<Datagram>();
  EXPECT_EQ(datagram, (Datagram{AddressHandleId(1), QpNumber(2), QKey(3)}));
}

TEST(SendTranslationTest, WritesAndReads) {
  EXPECT_EQ(WqeOf(Write{.remote = kRemote}).opcode, SendOpcode::kWrite);
  EXPECT_EQ(WqeOf(Write{.remote = kRemote}).As<RemoteAddress>(), kRemote);
  const auto immediate = WqeOf(Write{.remote = kRemote, .immediate = Immediate{7}});
  EXPECT_EQ(immediate.opcode, SendOpcode::kWriteWithImmediate);
  EXPECT_EQ(immediate.immediate, Immediate(7));
  EXPECT_EQ(WqeOf(Read{.remote = kRemote}).opcode, SendOpcode::kRead);
  EXPECT_EQ(WqeOf(AtomicWrite{.data = kBytes, .remote = kRemote}).opcode, SendOpcode::kAtomicWrite);
}

TEST(SendTranslationTest, Atomics) {
  const auto swap = WqeOf(CompareSwap{.remote = kRemote, .compare = 1, .swap = 2});
  EXPECT_EQ(swap.opcode, SendOpcode::kCompareAndSwap);
  EXPECT_EQ(swap.As<queue::Atomic>(), (queue::Atomic{kRemote, 1, 2}));
  const auto add = WqeOf(FetchAdd{.remote = kRemote, .add = 3});
  EXPECT_EQ(add.opcode, SendOpcode::kFetchAndAdd);
  EXPECT_EQ(add.As<queue::Atomic>(), (queue::Atomic{kRemote, 3, 0}));
}

TEST(SendTranslationTest, FlushAndDelay) {
  const auto flush = WqeOf(
      Flush{.remote = kRemote, .length = 9, .persistence = true, .level = FlushLevel::kRegion});
  EXPECT_EQ(
      flush.As<queue::FlushOperand>(),
      (queue::FlushOperand{
          .remote = kRemote, .length = 9, .persistence = true, .level = FlushLevel::kRegion}));
  const auto delay = WqeOf(Delay{.duration = std::chrono::microseconds(5)});
  EXPECT_EQ(delay.As<queue::DelayOperand>().duration, Microseconds(5));
}

TEST(SendTranslationTest, Keys) {
  const auto bind = WqeOf(Bind{.window = Key{0x501},
                               .r_key = Key{0x502},
                               .region = Key{0x601},
                               .start = 3,
                               .length = 4,
                               .access = Access::kRemoteRead,
                               .one_touch = true});
  EXPECT_EQ(bind.As<queue::WindowBind>(), (queue::WindowBind{.window = Key(0x501),
                                                             .region = Key(0x601),
                                                             .start = 3,
                                                             .length = 4,
                                                             .variant = KeyVariant(2),
                                                             .rights = Access::kRemoteRead,
                                                             .one_touch = true}));
  EXPECT_EQ(WqeOf(Invalidate{.key = Key{9}}).invalidate, Key(9));
}

TEST(SendTranslationTest, Registrations) {
  const uint64_t pages[] = {0x1000, 0x2000};
  const Registration registration{.key = Key{0x700},
                                  .pages = pages,
                                  .page_shift = 12,
                                  .first_offset = 5,
                                  .start = 6,
                                  .length = 7,
                                  .access = Access::kLocal};
  SendTranslation translation;
  translation.Set(RegisterAndSend{.registration = registration, .data = kBytes});
  EXPECT_EQ(translation.request().wqe.opcode, SendOpcode::kRegisterAndSend);
  EXPECT_EQ(translation.request().pages.data(), pages);
  EXPECT_EQ(translation.request().sges.size(), 1U);
  EXPECT_EQ(WqeOf(Register{.registration = registration}).As<queue::RegistrationOperand>(),
            (queue::RegistrationOperand{.key = Key(0x700),
                                        .rights = Access::kLocal,
                                        .page_shift = 12,
                                        .start = 6,
                                        .length = 7,
                                        .first_offset = 5}));
}

TEST(SendTranslationTest, Flags) {
  EXPECT_EQ(WqeOf(Send{}).flags, (SendFlags{.signaled = true}));
  const auto all = WqeOf(Send{.flags = {false, true, true, true}}).flags;
  EXPECT_EQ(all, (SendFlags{false, true, true, true}));
}

TEST(SendTranslationTest, ListsAreNotCopied) {
  const auto sges_of = [](const Send& send) {
    SendTranslation translation;
    translation.Set(send);
    return translation.request().sges;
  };
  EXPECT_TRUE(sges_of(Send{}).empty());
  EXPECT_TRUE(sges_of(Send{.data = std::vector<Sge>()}).empty());
  const std::array<Sge, 2> two{kBytes, {.address = 1, .length = 2, .key = Key{3}}};
  EXPECT_EQ(sges_of(Send{.data = two}).data(), two.data());
  EXPECT_EQ(sges_of(Send{.data = two}).size(), 2U);
  const Send one{.data = kBytes};
  ASSERT_EQ(sges_of(one).size(), 1U);
  EXPECT_EQ(sges_of(one)[0], kBytes);
}

// A list of one element contains a copy of it, which moves with the list.
TEST(SendTranslationTest, ASingleElementIsCopied) {
  SgeList list;
  {
    const Sge gone = kBytes;
    list = gone;
  }
  const SgeList copy = list;
  ASSERT_EQ(copy.size(), 1U);
  EXPECT_EQ(*copy.begin(), kBytes);
}

}  // namespace
}  // namespace verbena::verbs
