#include "transport/common/verdict.h"

#include <string>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using memory::Refusal;
using wire::NakCode;

constexpr size_t kRefusalCount = static_cast<size_t>(Refusal::kWraps) + 1;

TEST(VerdictTest, TemporaryRefusalsChangeNothing) {
  EXPECT_EQ(VerdictOf(ResponderError::kSequenceGap), (Verdict{.nak = NakCode::kPsnSequenceError}));
  EXPECT_EQ(VerdictOf(ResponderError::kReceiverNotReady), Verdict());
  EXPECT_EQ(VerdictOf(ResponderError::kPagesAbsent), Verdict());
}

TEST(VerdictTest, MalformedRequestsAreInvalidRequests) {
  for (const ResponderError error :
       {ResponderError::kOpcodeOutOfSequence, ResponderError::kNotAllowedOnQp,
        ResponderError::kTooManyOutstanding, ResponderError::kBadLength,
        ResponderError::kReservedFlush, ResponderError::kMisaligned}) {
    EXPECT_EQ(VerdictOf(error), (Verdict{.nak = NakCode::kInvalidRequest,
                                         .receive_status = CompletionStatus::kRemoteInvalidRequest,
                                         .effect = QpEffect::kError,
                                         .event = AsyncEventType::kQpRequestError}))
        << NameOf(error);
  }
  EXPECT_EQ(VerdictOf(ResponderError::kMessageTooLong),
            (Verdict{.nak = NakCode::kInvalidRequest,
                     .receive_status = CompletionStatus::kLocalLengthError,
                     .effect = QpEffect::kError,
                     .event = AsyncEventType::kQpRequestError}));
}

TEST(VerdictTest, EveryRefusalExceptMisalignmentIsAnAccessError) {
  for (size_t i = 0; i < kRefusalCount; ++i) {
    const auto refusal = static_cast<Refusal>(i);
    const NakCode expected =
        refusal == Refusal::kMisaligned ? NakCode::kInvalidRequest : NakCode::kRemoteAccessError;
    const Verdict verdict = VerdictOf(refusal);
    EXPECT_EQ(verdict.nak, expected) << NameOf(refusal);
    EXPECT_EQ(verdict.effect, QpEffect::kError) << NameOf(refusal);
  }
  EXPECT_EQ(VerdictOf(Refusal::kNoRight).receive_status, CompletionStatus::kLocalAccessError);
  EXPECT_EQ(VerdictOf(ResponderError::kNoPersistence), VerdictOf(Refusal::kNoRight));
  EXPECT_EQ(VerdictOf(ResponderError::kPagesUnavailable), VerdictOf(Refusal::kNoRight));
}

TEST(VerdictTest, AFailedInvalidateGetsNoNak) {
  EXPECT_EQ(VerdictOf(NakReason(Refusal::kNotInvalidable, RefusedKey::kInvalidated)),
            (Verdict{.nak = std::nullopt,
                     .is_silent = true,
                     .receive_status = CompletionStatus::kWindowBindError,
                     .effect = QpEffect::kError,
                     .event = AsyncEventType::kQpAccessError}));
}

TEST(VerdictTest, ErrorsOfTheResponderAreOperationalErrors) {
  EXPECT_EQ(VerdictOf(ResponderError::kReceiveBufferRefused).nak, NakCode::kRemoteOperationalError);
  EXPECT_EQ(VerdictOf(ResponderError::kReceiveBufferRefused).receive_status,
            CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(VerdictOf(NakReason(Refusal::kNoRight, RefusedKey::kOwn)),
            VerdictOf(ResponderError::kReceiveBufferRefused));
  EXPECT_EQ(VerdictOf(ResponderError::kCompletionQueueError),
            (Verdict{.nak = NakCode::kRemoteOperationalError,
                     .receive_status = CompletionStatus::kLocalQpOperationError,
                     .effect = QpEffect::kError,
                     .event = AsyncEventType::kQpFatal}));
}

// The side that ends the connection reports why on both sides, unless the specification asks for
// silence.
TEST(VerdictTest, AnErrorHasANakAStatusAndAnEvent) {
  for (size_t i = 0; i < kResponderErrorCount; ++i) {
    const auto error = static_cast<ResponderError>(i);
    const Verdict verdict = VerdictOf(error);
    const bool is_fatal = verdict.effect == QpEffect::kError;
    const bool is_known = error == ResponderError::kOwnWorkFailed;  // by a completion
    EXPECT_EQ(verdict.receive_status != CompletionStatus::kSuccess, is_fatal);
    EXPECT_EQ(verdict.event.has_value(), is_fatal && !is_known);
    EXPECT_TRUE(verdict.nak.has_value() || verdict.is_silent || !is_fatal);
  }
}

TEST(VerdictTest, ANakReasonKeepsItsValue) {
  for (size_t i = 0; i < kResponderErrorCount; ++i) {
    const NakReason reason(static_cast<ResponderError>(i));
    EXPECT_FALSE(reason.is_refusal());
    EXPECT_EQ(reason.error(), static_cast<ResponderError>(i));
  }
  for (size_t i = 0; i < kRefusalCount; ++i) {
    for (const RefusedKey key : {RefusedKey::kPeers, RefusedKey::kOwn, RefusedKey::kInvalidated}) {
      const NakReason reason(static_cast<Refusal>(i), key);
      EXPECT_TRUE(reason.is_refusal());
      EXPECT_EQ(reason.refusal(), static_cast<Refusal>(i));
      EXPECT_EQ(reason.key(), key);
    }
  }
}

TEST(VerdictTest, BothKindsOfReasonsHaveNames) {
  EXPECT_EQ(NameOf(NakReason(ResponderError::kBadLength)), std::string("the length is wrong"));
  EXPECT_EQ(NameOf(NakReason(Refusal::kNoRight)), std::string(memory::NameOf(Refusal::kNoRight)));
}

}  // namespace
}  // namespace verbena::transport
