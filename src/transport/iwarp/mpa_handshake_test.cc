#include "transport/iwarp/mpa_handshake.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::transport {
namespace {

using wire::MpaEnhanced;
using wire::MpaFrameKind;
using wire::MpaRequest;
using Bytes = std::vector<std::byte>;

Bytes BytesOf(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

MpaFrameReader ReaderOf(MpaFrameKind kind, std::span<const std::byte> bytes) {
  MpaFrameReader reader(kind);
  EXPECT_EQ(reader.Take(bytes), bytes.size());
  EXPECT_TRUE(reader.is_complete());
  return reader;
}

struct Outcome {
  MpaAgreement initiator;
  MpaAgreement responder;
};

Outcome Shake(const MpaTerms& initiator, const MpaTerms& responder) {
  const auto request = ReaderOf(MpaFrameKind::kRequest, MakeMpaRequest(initiator, {}).bytes());
  const auto accepted = AcceptMpa(request, responder, {});
  const auto reply = ReaderOf(MpaFrameKind::kReply, accepted.reply.bytes());
  const auto result = ConcludeMpa(initiator, reply);
  EXPECT_TRUE(result.agreement.has_value());
  return {result.agreement.value_or(MpaAgreement{}), accepted.agreement};
}

TEST(MpaHandshakeTest, BothSidesAgreeAboutMarkersAndCrc) {
  for (int bits = 0; bits < 16; ++bits) {
    const MpaTerms a{.markers = (bits & 1) != 0, .crc = (bits & 2) != 0};
    const MpaTerms b{.markers = (bits & 4) != 0, .crc = (bits & 8) != 0};
    const Outcome outcome = Shake(a, b);
    EXPECT_EQ(outcome.initiator.stream.receive_markers, a.markers);
    EXPECT_EQ(outcome.initiator.stream.send_markers, b.markers);
    EXPECT_EQ(outcome.responder.stream.receive_markers, b.markers);
    EXPECT_EQ(outcome.responder.stream.send_markers, a.markers);
    EXPECT_EQ(outcome.initiator.stream.crc, a.crc || b.crc);
    EXPECT_EQ(outcome.responder.stream.crc, a.crc || b.crc);
  }
}

// RFC 6581, 6: no side sends more reads than the other accepts.
TEST(MpaHandshakeTest, DepthsAreNegotiated) {
  const Outcome outcome = Shake({.ird = 4, .ord = 9}, {.ird = 5, .ord = 16});
  EXPECT_EQ(outcome.initiator.ord, 5);
  EXPECT_EQ(outcome.initiator.ird, 4);
  EXPECT_EQ(outcome.responder.ord, 4);
  EXPECT_EQ(outcome.responder.ird, 5);
}

TEST(MpaHandshakeTest, InRevision1DepthsAreTakenAsTheyAre) {
  const Outcome outcome = Shake({.revision = 1, .ird = 4, .ord = 9}, {.ird = 5, .ord = 16});
  EXPECT_EQ(outcome.initiator.revision, 1);
  EXPECT_EQ(outcome.responder.revision, 1);
  EXPECT_EQ(outcome.initiator.ord, 9);
  EXPECT_EQ(outcome.responder.ord, 16);
}

TEST(MpaHandshakeTest, ADepthThatIsNotNegotiatedIsNoLimit) {
  const auto request = ReaderOf(
      MpaFrameKind::kRequest,
      MpaFrameBytes({.kind = MpaFrameKind::kRequest, .revision = 2},
                    MpaEnhanced{.ird = MpaEnhanced::kDepthMax, .ord = MpaEnhanced::kDepthMax}, {})
          .bytes());
  EXPECT_EQ(AcceptMpa(request, {.ird = 3, .ord = 7}, {}).agreement.ord, 7);
}

TEST(MpaHandshakeTest, TheInitiatorSaysThatItIsReady) {
  Outcome outcome = Shake({.ird = 1, .ord = 1}, {.ird = 1, .ord = 1});
  EXPECT_EQ(outcome.initiator.rtr, MpaRtr::kWrite);
  EXPECT_EQ(outcome.responder.rtr, MpaRtr::kWrite);
  EXPECT_TRUE(outcome.responder.stream.waits_for_first);
  EXPECT_FALSE(outcome.initiator.stream.waits_for_first);
  outcome = Shake({.peer_to_peer = false}, {});
  EXPECT_EQ(outcome.initiator.rtr, MpaRtr::kNone);
  EXPECT_TRUE(outcome.responder.stream.waits_for_first);
}

TEST(MpaHandshakeTest, TheResponderTakesTheCheapestMessageThatIsOffered) {
  const auto choose = [](const MpaEnhanced& offer, uint16_t ird) {
    const auto request =
        ReaderOf(MpaFrameKind::kRequest,
                 MpaFrameBytes({.kind = MpaFrameKind::kRequest, .revision = 2}, offer, {}).bytes());
    return AcceptMpa(request, {.ird = ird}, {}).agreement.rtr;
  };
  EXPECT_EQ(choose({.peer_to_peer = true, .rtr_zero_length = true, .rtr_write = true}, 1),
            MpaRtr::kEmptyFrame);
  EXPECT_EQ(choose({.peer_to_peer = true, .rtr_write = true, .rtr_read = true}, 1), MpaRtr::kWrite);
  EXPECT_EQ(choose({.peer_to_peer = true, .rtr_read = true}, 1), MpaRtr::kRead);
  EXPECT_EQ(choose({.peer_to_peer = true, .rtr_read = true}, 0), MpaRtr::kNone);
  EXPECT_EQ(choose({.rtr_write = true}, 1), MpaRtr::kNone);
}

TEST(MpaHandshakeTest, RepliesThatAreNotAcceptableAreRefused) {
  const auto conclude = [](const MpaTerms& terms, uint8_t revision, const MpaEnhanced& enhanced) {
    const auto reply = ReaderOf(
        MpaFrameKind::kReply,
        MpaFrameBytes({.kind = MpaFrameKind::kReply, .revision = revision}, enhanced, {}).bytes());
    const auto result = ConcludeMpa(terms, reply);
    return result.agreement ? std::nullopt : std::optional(result.failure);
  };
  EXPECT_EQ(conclude({.ird = 3}, 2, {.ord = 4}), MpaFailure::kInsufficientIrd);
  EXPECT_EQ(conclude({.ird = 3}, 2, {.ord = 3}), std::nullopt);
  EXPECT_EQ(conclude({.revision = 1}, 2, {}), MpaFailure::kRevision);
  EXPECT_EQ(conclude({}, 2, {.peer_to_peer = true, .rtr_zero_length = true}),
            MpaFailure::kNoMatchingRtr);
  EXPECT_EQ(conclude({.ord = 0}, 2, {.peer_to_peer = true, .rtr_read = true}),
            MpaFailure::kNoMatchingRtr);
  EXPECT_EQ(conclude({.ord = 1}, 2, {.peer_to_peer = true, .ird = 1, .rtr_read = true}),
            std::nullopt);
}

TEST(MpaHandshakeTest, AResponderOfRevision1IsAccepted) {
  const auto reply = ReaderOf(
      MpaFrameKind::kReply,
      MpaFrameBytes({.kind = MpaFrameKind::kReply, .revision = 1}, std::nullopt, {}).bytes());
  const auto result = ConcludeMpa({.ird = 2, .ord = 3}, reply);
  ASSERT_TRUE(result.agreement.has_value());
  EXPECT_EQ(result.agreement->revision, 1);
  EXPECT_EQ(result.agreement->ord, 3);
}

TEST(MpaHandshakeTest, PrivateDataArrivesAsItWasSent) {
  Random random(1);
  for (const uint8_t revision : {uint8_t{1}, uint8_t{2}}) {
    for (const size_t size : {size_t{0}, size_t{1}, MpaPrivateDataMax(revision)}) {
      const Bytes data = wire::RandomBytes(random, size);
      const MpaTerms terms{.revision = revision};
      const auto request = ReaderOf(MpaFrameKind::kRequest, MakeMpaRequest(terms, data).bytes());
      EXPECT_EQ(BytesOf(request.private_data()), data);
      const auto reply =
          ReaderOf(MpaFrameKind::kReply, AcceptMpa(request, terms, data).reply.bytes());
      EXPECT_EQ(BytesOf(reply.private_data()), data);
      const auto rejected = ReaderOf(MpaFrameKind::kReply, RejectMpa(request, data).bytes());
      EXPECT_EQ(BytesOf(rejected.private_data()), data);
      EXPECT_TRUE(rejected.frame().rejects);
      EXPECT_EQ(rejected.frame().revision, revision);
    }
  }
  EXPECT_EQ(MpaPrivateDataMax(1), 512);
  EXPECT_EQ(MpaPrivateDataMax(2), 508);
}

TEST(MpaFrameReaderTest, TakesNoByteBehindTheFrameHoweverItArrives) {
  Random random(1);
  const Bytes data = wire::RandomBytes(random, 100);
  Bytes stream = BytesOf(MakeMpaRequest({}, data).bytes());
  const size_t frame = stream.size();
  stream.resize(frame + 50, std::byte{1});
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    MpaFrameReader reader(MpaFrameKind::kRequest);
    size_t taken = 0;
    while (!reader.is_complete()) {
      const size_t size = std::min(piece, stream.size() - taken);
      const size_t took = reader.Take(std::span(stream).subspan(taken, size));
      ASSERT_GT(took, 0);
      taken += took;
    }
    ASSERT_EQ(taken, frame);
    ASSERT_EQ(BytesOf(reader.private_data()), data);
    ASSERT_EQ(reader.Take(stream), 0);
  }
}

TEST(MpaFrameReaderTest, NoticesAWrongKeyAtItsFirstWrongByte) {
  const Bytes good = BytesOf(MakeMpaRequest({}, {}).bytes());
  for (size_t i = 0; i < MpaRequest::kKeySize; ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte{0x20};
    MpaFrameReader reader(MpaFrameKind::kRequest);
    reader.Take(std::span(bad).first(i));
    EXPECT_EQ(reader.failure(), std::nullopt);
    reader.Take(std::span(bad).subspan(i, 1));
    EXPECT_EQ(reader.failure(), MpaFailure::kNotMpa);
    EXPECT_EQ(reader.Take(good), 0);
  }
  MpaFrameReader reply(MpaFrameKind::kReply);
  reply.Take(good);
  EXPECT_EQ(reply.failure(), MpaFailure::kNotMpa);
}

TEST(MpaFrameReaderTest, RefusesRevisionsAndLengthsThatItDoesNotKnow) {
  const auto failure_of = [](const MpaRequest& frame) {
    MpaFrameReader reader(MpaFrameKind::kRequest);
    reader.Take(wire::Written(frame));
    return reader.failure();
  };
  MpaRequest frame{.kind = MpaFrameKind::kRequest};
  for (const uint8_t revision : {uint8_t{0}, uint8_t{3}, uint8_t{255}}) {
    frame.revision = revision;
    EXPECT_EQ(failure_of(frame), MpaFailure::kRevision);
  }
  frame.revision = 2;
  frame.private_data_length = 513;
  EXPECT_EQ(failure_of(frame), MpaFailure::kPrivateData);
  frame.private_data_length = 512;
  EXPECT_EQ(failure_of(frame), std::nullopt);
  frame.enhanced = true;
  frame.private_data_length = 3;
  EXPECT_EQ(failure_of(frame), MpaFailure::kPrivateData);
}

TEST(MpaHandshakeTest, FailuresHaveNames) {
  EXPECT_STREQ(NameOf(MpaFailure::kNotMpa), "it is no MPA frame");
  EXPECT_STREQ(NameOf(MpaFailure::kRevision), "the revision of MPA is unknown");
}

}  // namespace
}  // namespace verbena::transport
