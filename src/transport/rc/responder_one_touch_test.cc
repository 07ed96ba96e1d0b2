// Keys that are valid for one message, which a read may have to use again.

#include <gtest/gtest.h>

#include "tests/support/responder_read_fixture.h"
#include "transport/rc/responder.h"

namespace verbena::transport {
namespace {

using memory::kPage;
using wire::NakCode;

// Row A5.
class ResponderOneTouchTest : public ResponderReadFixture {
 protected:
  ResponderOneTouchTest() {
    const memory::RegionSpec spec{.pd = pd_,
                                  .start = KeyAddress(AddressOf(0)),
                                  .length = kPage,
                                  .rights = Access::kAll,
                                  .one_touch = true};
    const std::vector pages = {memory::PhysicalAddress(AddressOf(0))};
    keys_ = *core_.regions.Register(spec, memory::PageListBacking{pages, 0, memory::kSmall});
    read_ = PartOf(0, 2 * kMtu);
  }
  // A read with the one-touch key.
  Request PartOf(uint64_t offset, uint32_t length) const {
    Request part = ReadOf(offset, length);
    part.reth.r_key = keys_.remote;
    return part;
  }
  bool KeyIsValid() { return EntryOf(keys_.local).state == memory::EntryState::kValid; }

  memory::RegionKeys keys_;
  Request read_;
};

TEST_F(ResponderOneTouchTest, ASecondReadIsRefused) {
  Deliver(read_);
  ExpectRun(Answers(), kStart, Read(0, 2 * kMtu));
  Deliver(read_);
  EXPECT_TRUE(OneAnswer().IsNak(PsnAt(2), NakCode::kRemoteAccessError));
}

TEST_F(ResponderOneTouchTest, ASecondReadBeforeTheFirstResponseIsRefused) {
  Deliver(read_);
  Deliver(read_);
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_TRUE(answers[2].IsNak(PsnAt(2), NakCode::kRemoteAccessError));
}

// A long read may arrive in parts: one that starts where the last one ended is the same read.
TEST_F(ResponderOneTouchTest, AReadThatContinuesTheFirstIsAccepted) {
  Deliver(read_);
  Answers();
  const Request rest = PartOf(2 * kMtu, kMtu);
  Deliver(rest);
  ExpectRun(Answers(), PsnAt(2), Read(2 * kMtu, kMtu));
  Deliver(rest, Psn(PsnAt(2)));
  ExpectRun(Answers(), PsnAt(2), Read(2 * kMtu, kMtu));
  Deliver(rest, psn_);
  EXPECT_TRUE(OneAnswer().IsNak(PsnAt(3), NakCode::kRemoteAccessError));
}

// A peer may repeat a request, with less length, before the response: that uses the key, too.
// Otherwise a peer could read through it without limit, except for the last packet.
TEST_F(ResponderOneTouchTest, ASecondReadIsRefusedAlsoAfterAPartOfTheFirst) {
  Deliver(read_);
  Deliver(PartOf(0, kMtu), Psn(kStart));
  ExpectRun(Answers(), kStart, Read(0, kMtu));
  Deliver(read_);
  EXPECT_TRUE(OneAnswer().IsNak(PsnAt(2), NakCode::kRemoteAccessError));
}

TEST_F(ResponderOneTouchTest, AfterAPartTheRemainderCanBeRead) {
  Deliver(read_);
  Deliver(PartOf(0, kMtu), Psn(kStart));
  Answers();
  Deliver(PartOf(kMtu, kMtu), Psn(PsnAt(1)));
  ExpectRun(Answers(), PsnAt(1), Read(kMtu, kMtu));
}

TEST_F(ResponderOneTouchTest, OtherOperationsWithTheKeyAreRefused) {
  Deliver(read_);
  Answers();
  Request write = WriteOnly(0, Pattern(8, 99));
  write.reth.r_key = read_.reth.r_key;
  const Bytes before = Read(0, 8);
  Deliver(write);
  EXPECT_TRUE(OneAnswer().IsNak(PsnAt(2), NakCode::kRemoteAccessError));
  EXPECT_EQ(Read(0, 8), before);
}

// Packets of the response may be lost: this read, and no other, can be repeated.
TEST_F(ResponderOneTouchTest, TheReadItselfMayBeRepeated) {
  Deliver(read_);
  Answers();
  Deliver(read_, Psn(kStart));
  ExpectRun(Answers(), kStart, Read(0, 2 * kMtu));
  EXPECT_TRUE(KeyIsValid());
}

TEST_F(ResponderOneTouchTest, RepeatsOfTheReadAreLimited) {
  Deliver(read_);
  Answers();
  for (int i = 0; i < Reply::kRepeatsMax; ++i) {
    Deliver(read_, Psn(kStart));
    EXPECT_EQ(Answers().size(), 2u);
  }
  Deliver(read_, Psn(kStart));
  EXPECT_TRUE(Answers().empty());
  EXPECT_FALSE(KeyIsValid());
}

TEST_F(ResponderOneTouchTest, TheKeyIsInvalidatedWhenTheReadLeavesTheCache) {
  Deliver(read_);
  Answers();
  for (int i = 0; i < 2; ++i) Deliver(ReadOf(0, 8));
  EXPECT_FALSE(KeyIsValid());
}

TEST_F(ResponderOneTouchTest, TheKeyIsInvalidatedWithTheConnection) {
  Deliver(read_);
  Answers();
  Step step = MakeStep();
  responder_->Flush(step);
  EXPECT_FALSE(KeyIsValid());
}

}  // namespace
}  // namespace verbena::transport
