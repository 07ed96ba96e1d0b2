#include "transport/iwarp/terminate_reason.h"

#include <string>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using memory::Refusal;
using wire::TerminateCode;

TerminateCode CodeOf(const TerminateReason& reason, SegmentKind kind) {
  return TerminationOf(reason, kind).code;
}

// RFC 5041, 7.1 (tagged) and RFC 5040, 4.8 (reads), by the letter of the check.
TEST(TerminateReasonTest, EachCheckOfTheTablesHasItsCode) {
  const struct {
    char check;
    TerminateCode tagged;
    TerminateCode read;
  } rows[] = {
      {'a', TerminateCode::kDdpTaggedInvalidStag, TerminateCode::kRdmapInvalidStag},
      {'b', TerminateCode::kDdpTaggedInvalidStag, TerminateCode::kRdmapInvalidStag},
      {'c', TerminateCode::kDdpTaggedNotAssociated, TerminateCode::kRdmapNotAssociated},
      {'d', TerminateCode::kDdpTaggedInvalidStag, TerminateCode::kRdmapInvalidStag},
      {'e', TerminateCode::kDdpTaggedBounds, TerminateCode::kRdmapBounds},
      {'f', TerminateCode::kRdmapAccess, TerminateCode::kRdmapAccess},
  };
  int checked = 0;
  for (uint8_t i = 0; i <= static_cast<uint8_t>(Refusal::kWraps); ++i) {
    const auto refusal = static_cast<Refusal>(i);
    for (const auto& row : rows) {
      if (memory::CheckOf(refusal) != row.check) continue;
      EXPECT_EQ(CodeOf(NakReason(refusal), SegmentKind::kTagged), row.tagged) << NameOf(refusal);
      EXPECT_EQ(CodeOf(NakReason(refusal), SegmentKind::kReadRequest), row.read) << NameOf(refusal);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 13);
  EXPECT_EQ(CodeOf(NakReason(Refusal::kWraps), SegmentKind::kTagged),
            TerminateCode::kDdpTaggedWrap);
  EXPECT_EQ(CodeOf(NakReason(Refusal::kWraps), SegmentKind::kReadRequest),
            TerminateCode::kRdmapWrap);
}

TEST(TerminateReasonTest, ErrorsOfTheProtocolHaveTheCodeOfTheirLayer) {
  const auto layer_of = [](StreamError error, SegmentKind kind) {
    return static_cast<unsigned>(CodeOf(error, kind)) >> 12;
  };
  for (uint8_t i = 0; i < kStreamErrorCount; ++i) {
    const auto error = static_cast<StreamError>(i);
    const bool is_mpa = error <= StreamError::kMarker;
    const bool is_rdmap =
        error >= StreamError::kRdmapVersion || error == StreamError::kSegmentTooShort;
    EXPECT_EQ(layer_of(error, SegmentKind::kTagged), is_mpa     ? 2
                                                     : is_rdmap ? 0
                                                                : 1)
        << NameOf(error);
  }
  EXPECT_EQ(CodeOf(StreamError::kCrc, SegmentKind::kUntagged), TerminateCode::kMpaCrc);
  EXPECT_EQ(CodeOf(StreamError::kDdpVersion, SegmentKind::kUntagged),
            TerminateCode::kDdpUntaggedVersion);
  EXPECT_EQ(CodeOf(StreamError::kDdpVersion, SegmentKind::kTagged),
            TerminateCode::kDdpTaggedVersion);
  EXPECT_EQ(CodeOf(StreamError::kNoReceive, SegmentKind::kUntagged),
            TerminateCode::kDdpUntaggedNoBuffer);
  EXPECT_EQ(CodeOf(StreamError::kMsnRange, SegmentKind::kUntagged),
            TerminateCode::kDdpUntaggedMsnRange);
  EXPECT_EQ(CodeOf(StreamError::kOffsetWraps, SegmentKind::kReadRequest),
            TerminateCode::kRdmapWrap);
}

TEST(TerminateReasonTest, ErrorsOfThisSideAreItsOwnCatastrophe) {
  for (const NakReason reason :
       {NakReason(ResponderError::kReceiveBufferRefused),
        NakReason(ResponderError::kCompletionQueueError), NakReason(ResponderError::kOwnWorkFailed),
        NakReason(Refusal::kNoSuchKey, RefusedKey::kOwn)}) {
    EXPECT_EQ(CodeOf(reason, SegmentKind::kUntagged), TerminateCode::kRdmapCatastrophic);
  }
}

// At this end, a refusal has the consequences that it has on a reliable connection.
TEST(TerminateReasonTest, ReceivesEndAsOnAReliableConnection) {
  const auto too_long =
      TerminationOf(NakReason(ResponderError::kMessageTooLong), SegmentKind::kUntagged);
  EXPECT_EQ(too_long, (Termination{.code = TerminateCode::kDdpUntaggedTooLong,
                                   .receive_status = CompletionStatus::kLocalLengthError,
                                   .event = AsyncEventType::kQpRequestError}));
  const NakReason invalidate(Refusal::kNotInvalidable, RefusedKey::kInvalidated);
  EXPECT_EQ(TerminationOf(invalidate, SegmentKind::kUntagged),
            (Termination{.code = TerminateCode::kRdmapCannotInvalidate,
                         .receive_status = CompletionStatus::kWindowBindError,
                         .event = AsyncEventType::kQpAccessError}));
}

TEST(TerminateReasonTest, ATerminateOfThePeerFailsTheElementThatItNames) {
  EXPECT_EQ(StatusOf(TerminateCode::kRdmapBounds), CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(StatusOf(TerminateCode::kDdpTaggedInvalidStag), CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(StatusOf(TerminateCode::kRdmapUnexpectedOpcode),
            CompletionStatus::kRemoteInvalidRequest);
  EXPECT_EQ(StatusOf(TerminateCode::kDdpUntaggedNoBuffer), CompletionStatus::kRemoteInvalidRequest);
  EXPECT_EQ(StatusOf(TerminateCode::kRdmapCatastrophic), CompletionStatus::kRemoteOperationError);
  EXPECT_EQ(StatusOf(TerminateCode::kMpaCrc), CompletionStatus::kRemoteOperationError);
}

TEST(TerminateReasonTest, EveryReasonHasAName) {
  for (uint8_t i = 0; i < kStreamErrorCount; ++i) {
    EXPECT_FALSE(std::string(NameOf(static_cast<StreamError>(i))).empty());
  }
  EXPECT_STREQ(NameOf(TerminateReason(StreamError::kCrc)), "the CRC is wrong");
  EXPECT_STREQ(NameOf(TerminateReason(NakReason(Refusal::kOutOfRange))),
               NameOf(Refusal::kOutOfRange));
}

}  // namespace
}  // namespace verbena::transport
