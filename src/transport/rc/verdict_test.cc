#include "transport/rc/verdict.h"

#include <string>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using memory::Denial;
using queue::CompletionStatus;
using wire::NakCode;

constexpr size_t kDenialCount = static_cast<size_t>(Denial::kWraps) + 1;

TEST(VerdictTest, WhatIsSentAgainLeavesEverythingAsItIs) {
  EXPECT_EQ(VerdictOf(Reason::kSequenceGap), (Verdict{.nak = NakCode::kPsnSequenceError}));
  EXPECT_EQ(VerdictOf(Reason::kReceiverNotReady), Verdict());
  EXPECT_EQ(VerdictOf(Reason::kPagesAbsent), Verdict());
}

TEST(VerdictTest, ImproperRequests) {
  for (const Reason reason :
       {Reason::kOpcodeOutOfSequence, Reason::kNotAllowedOnQp, Reason::kTooManyOutstanding,
        Reason::kBadLength, Reason::kReservedFlush, Reason::kMisaligned}) {
    EXPECT_EQ(VerdictOf(reason), (Verdict{.nak = NakCode::kInvalidRequest,
                                          .receive_status = CompletionStatus::kRemoteInvalidRequest,
                                          .effect = QpEffect::kError,
                                          .event = AsyncEventType::kQpRequestError}))
        << NameOf(reason);
  }
  EXPECT_EQ(VerdictOf(Reason::kMessageTooLong),
            (Verdict{.nak = NakCode::kInvalidRequest,
                     .receive_status = CompletionStatus::kLocalLengthError,
                     .effect = QpEffect::kError,
                     .event = AsyncEventType::kQpRequestError}));
}

TEST(VerdictTest, EveryDenialIsAnAccessErrorButMisalignment) {
  for (size_t i = 0; i < kDenialCount; ++i) {
    const auto denial = static_cast<Denial>(i);
    const NakCode expected =
        denial == Denial::kMisaligned ? NakCode::kInvalidRequest : NakCode::kRemoteAccessError;
    const Verdict verdict = VerdictOf(denial);
    EXPECT_EQ(verdict.nak, expected) << NameOf(denial);
    EXPECT_EQ(verdict.effect, QpEffect::kError) << NameOf(denial);
  }
  EXPECT_EQ(VerdictOf(Denial::kNoRight).receive_status, CompletionStatus::kLocalAccessError);
  EXPECT_EQ(VerdictOf(Reason::kNoPersistence), VerdictOf(Denial::kNoRight));
  EXPECT_EQ(VerdictOf(Reason::kPagesUnavailable), VerdictOf(Denial::kNoRight));
}

TEST(VerdictTest, AnInvalidateThatFailsIsNotAnswered) {
  EXPECT_EQ(VerdictOf(Cause(Denial::kNotInvalidable, DeniedKey::kInvalidated)),
            (Verdict{.nak = std::nullopt,
                     .is_silent = true,
                     .receive_status = CompletionStatus::kWindowBindError,
                     .effect = QpEffect::kError,
                     .event = AsyncEventType::kQpAccessError}));
}

TEST(VerdictTest, TroubleOfOurOwnIsAnOperationalError) {
  EXPECT_EQ(VerdictOf(Reason::kReceiveBufferDenied).nak, NakCode::kRemoteOperationalError);
  EXPECT_EQ(VerdictOf(Reason::kReceiveBufferDenied).receive_status,
            CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(VerdictOf(Cause(Denial::kNoRight, DeniedKey::kOwn)),
            VerdictOf(Reason::kReceiveBufferDenied));
  EXPECT_EQ(VerdictOf(Reason::kCompletionQueueError),
            (Verdict{.nak = NakCode::kRemoteOperationalError,
                     .receive_status = CompletionStatus::kLocalQpOperationError,
                     .effect = QpEffect::kError,
                     .event = AsyncEventType::kQpFatal}));
}

// Whoever ends the connection tells both sides why, unless the specification has it keep silent.
TEST(VerdictTest, AnErrorHasANakAStatusAndAnEvent) {
  for (size_t i = 0; i < kReasonCount; ++i) {
    const auto reason = static_cast<Reason>(i);
    const Verdict verdict = VerdictOf(reason);
    const bool is_fatal = verdict.effect == QpEffect::kError;
    const bool is_known = reason == Reason::kOwnWorkFailed;  // by a completion
    EXPECT_EQ(verdict.receive_status != CompletionStatus::kSuccess, is_fatal);
    EXPECT_EQ(verdict.event.has_value(), is_fatal && !is_known);
    EXPECT_TRUE(verdict.nak.has_value() || verdict.is_silent || !is_fatal);
  }
}

TEST(VerdictTest, ACauseRemembersWhatItWasMadeOf) {
  for (size_t i = 0; i < kReasonCount; ++i) {
    const Cause cause(static_cast<Reason>(i));
    EXPECT_FALSE(cause.is_denial());
    EXPECT_EQ(cause.reason(), static_cast<Reason>(i));
  }
  for (size_t i = 0; i < kDenialCount; ++i) {
    for (const DeniedKey key : {DeniedKey::kPeers, DeniedKey::kOwn, DeniedKey::kInvalidated}) {
      const Cause cause(static_cast<Denial>(i), key);
      EXPECT_TRUE(cause.is_denial());
      EXPECT_EQ(cause.denial(), static_cast<Denial>(i));
      EXPECT_EQ(cause.key(), key);
    }
  }
}

TEST(VerdictTest, NamesComeFromEitherPart) {
  EXPECT_EQ(NameOf(Cause(Reason::kBadLength)), std::string("the length is wrong"));
  EXPECT_EQ(NameOf(Cause(Denial::kNoRight)), std::string(memory::NameOf(Denial::kNoRight)));
}

}  // namespace
}  // namespace verbena::transport
