// Rows A5 and B9: a one-touch key ends when the stream has delivered all of the first message that
// used it, in whatever order the segments arrive.

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/iwarp_end.h"
#include "tests/support/wire_header.h"

namespace verbena::transport {
namespace {

using scenario::Bytes;
using scenario::IwarpEnd;
using scenario::IwarpSpec;
using scenario::RcNode;
using wire::DdpTagged;
using wire::RdmapOpcode;
using wire::StreamOffset;
using wire::TerminateCode;

constexpr uint64_t kPage = RcNode::kPage;
// Long enough for each frame to have a marker, so that each is found behind a gap.
constexpr size_t kPayload = 600;
constexpr size_t kSegmentsMax = 6;
constexpr uint64_t kWindowStart = kPage / 2;

class IwarpOneTouchTest : public testing::Test {
 protected:
  explicit IwarpOneTouchTest(StreamFraming framing = StreamFraming::kMpa) : end_(Spec(framing)) {
    memory::SignalGuard::Install();
    window_ = *end_.node.core.windows.Allocate(end_.node.pd, WindowType::k1);
  }
  ~IwarpOneTouchTest() override {
    Fail();
    EXPECT_TRUE(end_.node.core.IsConsistent());
    EXPECT_EQ(end_.node.core.one_touch.remembered_count(), 0);
    memory::SignalGuard::Uninstall();
  }

  static IwarpSpec Spec(StreamFraming framing) {
    IwarpSpec spec;
    const bool markers = framing == StreamFraming::kMpa;
    spec.config.stream = {
        .framing = framing, .send_markers = markers, .receive_markers = markers, .ulpdu_max = 700};
    return spec;
  }

  void Fail() {
    end_.qp->BecomeFailed();
    end_.Run();
  }
  // A new connection, and a new generation of the key.
  void Begin() {
    Fail();
    end_.buffer.Clear();
    end_.inbox.clear();
    end_.taken_end = StreamOffset();
    end_.events.clear();
    held_.clear();
    end_.qp =
        std::make_unique<IwarpQp>(end_.config, end_.send_queue, ReceiveSource(end_.receive_queue),
                                  end_.send_cq, end_.receive_cq);
    end_.qp->Connect(end_.buffer);
    end_.node.Fill(0, end_.node.arena.size(), 0);
    const auto bound =
        end_.node.core.windows.Bind(window_,
                                    {.region = end_.node.keys.local,
                                     .start = KeyAddress(RcNode::kBase + kWindowStart),
                                     .length = kSegmentsMax * kPayload,
                                     .rights = Access::kRemoteWrite,
                                     .one_touch = true,
                                     .by_index = true},
                                    end_.who);
    ASSERT_TRUE(bound.has_value());
    window_ = *bound;
  }
  bool IsKeyValid() {
    return end_.node.core.translator
        .Authorize(window_, KeyAddress(RcNode::kBase + kWindowStart), 1,
                   memory::AccessKind::kRemoteWrite, end_.who)
        .has_value();
  }

  // The frames of messages with so many segments each, all with the same key, and where they are.
  struct Piece {
    StreamOffset start;
    Bytes bytes;
  };
  std::vector<Piece> FramesOf(const std::vector<size_t>& messages) const {
    SendBuffer buffer(100'000);
    MpaSender sender(end_.config.stream, buffer);
    std::vector<Piece> pieces;
    uint64_t index = 0;
    for (const size_t segments : messages) {
      for (size_t i = 0; i < segments; ++i, ++index) {
        const StreamOffset start = sender.offset();
        EXPECT_TRUE(sender.Begin(DdpTagged::kSize + kPayload));
        DdpTagged{
            .control = {.tagged = true, .last = i + 1 == segments, .opcode = RdmapOpcode::kWrite},
            .stag = window_,
            .offset = KeyAddress(RcNode::kBase + kWindowStart + i * kPayload)}
            .Serialize(sender.ulpdu());
        std::ranges::fill(sender.ulpdu().subspan(DdpTagged::kSize), ValueOf(index));
        sender.End();
        pieces.push_back({start, TakeAll(buffer)});
      }
    }
    return pieces;
  }
  static std::byte ValueOf(uint64_t index) { return static_cast<std::byte>(index + 1); }
  static Bytes TakeAll(SendBuffer& buffer) {
    Bytes bytes;
    for (const auto piece : buffer.bytes()) bytes.insert(bytes.end(), piece.begin(), piece.end());
    buffer.Consume(bytes.size());
    return bytes;
  }

  // A piece arrives, as TCP has it: it is shown at once, and delivered in order.
  void Arrive(const Piece& piece) {
    if (piece.start > end_.taken_end) {
      end_.ArriveEarly(piece.start, piece.bytes);
      held_[piece.start.value()] = piece.bytes;
      return;
    }
    if (piece.start < end_.taken_end) return;  // a duplicate
    end_.Arrive(piece.bytes);
    for (auto next = held_.find(end_.taken_end.value()); next != held_.end();
         next = held_.find(end_.taken_end.value())) {
      end_.Arrive(next->second);
    }
  }

  bool is_terminated() const { return end_.qp->terminate_sent().has_value(); }

  // Nothing outside of the window has changed.
  void ExpectNothingOutside() const {
    ASSERT_EQ(end_.node.Read(0, kWindowStart), Bytes(kWindowStart));
    const uint64_t behind = kWindowStart + kSegmentsMax * kPayload;
    ASSERT_EQ(end_.node.Read(behind, kPage), Bytes(kPage));
  }

  // One message in this order.
  void RunOneMessage(const std::vector<size_t>& order, std::optional<size_t> twice) {
    const size_t count = order.size();
    Begin();
    const auto pieces = FramesOf({count});
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(IsKeyValid()) << "the key has ended before segment " << i;
      Arrive(pieces[order[i]]);
      if (twice == i) Arrive(pieces[order[i]]);
      ASSERT_FALSE(is_terminated());
    }
    ASSERT_FALSE(IsKeyValid());
    ASSERT_EQ(end_.qp->counters().frames_received, count);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(end_.node.Read(kWindowStart + i * kPayload, kPayload), Bytes(kPayload, ValueOf(i)));
    }
    ExpectNothingOutside();
  }

  // Two messages with the same key: the second is refused, and what the first has delivered stays.
  void RunTwoMessages(const std::vector<size_t>& order, size_t first, std::optional<size_t> twice) {
    Begin();
    const auto pieces = FramesOf({first, order.size() - first});
    for (size_t i = 0; i < order.size(); ++i) {
      Arrive(pieces[order[i]]);
      if (twice == i) Arrive(pieces[order[i]]);
      // The key does not outlive the message that the stream has delivered.
      if (end_.qp->counters().frames_received >= first) {
        ASSERT_FALSE(IsKeyValid());
      }
    }
    ASSERT_TRUE(is_terminated());
    ASSERT_FALSE(IsKeyValid());
    ASSERT_EQ(end_.qp->terminate_sent()->code, TerminateCode::kDdpTaggedInvalidStag);
    // No segment of the second message was delivered.
    ASSERT_LE(end_.qp->counters().frames_received, first);
    ExpectNothingOutside();
  }

  template <class Fn>
  static void ForEveryOrder(size_t count, Fn fn) {
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    do {
      ASSERT_NO_FATAL_FAILURE(fn(order));
    } while (std::ranges::next_permutation(order).found);
  }

  IwarpEnd end_;
  Key window_;
  std::map<uint64_t, Bytes> held_;  // pieces that arrived ahead of a gap
};

// The same over SCTP, whose messages are records.
class IwarpOneTouchRecordsTest : public IwarpOneTouchTest {
 protected:
  IwarpOneTouchRecordsTest() : IwarpOneTouchTest(StreamFraming::kRecords) {}
};

TEST_F(IwarpOneTouchRecordsTest, OneMessageInEveryOrder) {
  for (size_t count = 1; count <= kSegmentsMax; ++count) {
    ForEveryOrder(count,
                  [&](const std::vector<size_t>& order) { RunOneMessage(order, std::nullopt); });
  }
}

TEST_F(IwarpOneTouchRecordsTest, TwoMessagesInEveryOrder) {
  for (size_t count = 2; count <= kSegmentsMax; ++count) {
    for (size_t first = 1; first < count; ++first) {
      ForEveryOrder(count, [&](const std::vector<size_t>& order) {
        RunTwoMessages(order, first, std::nullopt);
      });
    }
  }
}

TEST_F(IwarpOneTouchRecordsTest, TheLastSegmentIsPlacedWhenItArrives) {
  Begin();
  const auto pieces = FramesOf({3});
  Arrive(pieces[2]);
  EXPECT_EQ(end_.qp->counters().frames_early, 1);
  EXPECT_EQ(end_.node.Read(kWindowStart + 2 * kPayload, kPayload), Bytes(kPayload, ValueOf(2)));
  EXPECT_TRUE(IsKeyValid());
  Arrive(pieces[0]);
  EXPECT_TRUE(IsKeyValid());
  Arrive(pieces[1]);
  EXPECT_FALSE(IsKeyValid());
}

TEST_F(IwarpOneTouchRecordsTest, SeveralRecordsMayArriveAheadOfAGapTogether) {
  Begin();
  const auto pieces = FramesOf({3});
  Bytes both = pieces[1].bytes;
  both.insert(both.end(), pieces[2].bytes.begin(), pieces[2].bytes.end());
  end_.ArriveEarly(pieces[1].start, both);
  EXPECT_EQ(end_.qp->counters().frames_early, 2);
  end_.Arrive(pieces[0].bytes);
  end_.Arrive(both);
  EXPECT_FALSE(IsKeyValid());
  EXPECT_FALSE(is_terminated());
}

// A position counts those that were dropped, too: the next is not ahead of the stream.
TEST_F(IwarpOneTouchRecordsTest, AfterTheStreamIsTerminatedEachRecordIsDropped) {
  Begin();
  const auto pieces = FramesOf({2, 3});
  Arrive(pieces[0]);
  Arrive(pieces[1]);
  Arrive(pieces[2]);
  EXPECT_TRUE(is_terminated());
  EXPECT_EQ(end_.taken_end, pieces[3].start);
  Arrive(pieces[4]);
  Arrive(pieces[3]);
  EXPECT_TRUE(end_.inbox.empty());
  EXPECT_EQ(end_.taken_end, pieces[4].start + 1);
}

TEST_F(IwarpOneTouchTest, OneMessageInEveryOrder) {
  for (size_t count = 1; count <= kSegmentsMax; ++count) {
    ForEveryOrder(count,
                  [&](const std::vector<size_t>& order) { RunOneMessage(order, std::nullopt); });
  }
}

TEST_F(IwarpOneTouchTest, OneMessageInEveryOrderWithEachSegmentTwice) {
  for (size_t count = 1; count < kSegmentsMax; ++count) {
    ForEveryOrder(count, [&](const std::vector<size_t>& order) {
      for (size_t twice = 0; twice < count; ++twice) RunOneMessage(order, twice);
    });
  }
}

TEST_F(IwarpOneTouchTest, TwoMessagesInEveryOrder) {
  for (size_t count = 2; count <= kSegmentsMax; ++count) {
    for (size_t first = 1; first < count; ++first) {
      ForEveryOrder(count, [&](const std::vector<size_t>& order) {
        RunTwoMessages(order, first, std::nullopt);
      });
    }
  }
}

TEST_F(IwarpOneTouchTest, TwoMessagesInEveryOrderWithEachSegmentTwice) {
  for (size_t count = 2; count <= 4; ++count) {
    for (size_t first = 1; first < count; ++first) {
      ForEveryOrder(count, [&](const std::vector<size_t>& order) {
        for (size_t twice = 0; twice < count; ++twice) RunTwoMessages(order, first, twice);
      });
    }
  }
}

TEST_F(IwarpOneTouchTest, AnEarlySegmentOutsideOfTheWindowIsDropped) {
  Begin();
  auto pieces = FramesOf({2});
  end_.config.stream.receive_window =
      static_cast<uint32_t>(pieces[1].start.value() + pieces[1].bytes.size() - 1);
  Begin();
  pieces = FramesOf({2});
  end_.ArriveEarly(pieces[1].start, pieces[1].bytes);
  EXPECT_EQ(end_.qp->counters().frames_early, 0);
  EXPECT_EQ(end_.qp->counters().bytes_dropped, 1);
  EXPECT_EQ(end_.node.Read(kWindowStart + kPayload, kPayload), Bytes(kPayload));
  end_.config.stream.receive_window += 1;
  Begin();
  pieces = FramesOf({2});
  end_.ArriveEarly(pieces[1].start, pieces[1].bytes);
  EXPECT_EQ(end_.qp->counters().frames_early, 1);
  EXPECT_EQ(end_.node.Read(kWindowStart + kPayload, kPayload), Bytes(kPayload, ValueOf(1)));
}

TEST_F(IwarpOneTouchTest, ASegmentThatWasPlacedEarlyNeedsItsKeyWhenItIsDelivered) {
  Begin();
  const auto pieces = FramesOf({2});
  end_.ArriveEarly(pieces[1].start, pieces[1].bytes);
  EXPECT_EQ(end_.qp->counters().frames_early, 1);
  end_.Arrive(pieces[0].bytes);
  EXPECT_FALSE(is_terminated());
  // The owner unbinds the window.
  memory::WindowBinding nothing{};
  nothing.by_index = true;
  ASSERT_TRUE(end_.node.core.windows.Bind(window_, nothing, end_.who));
  end_.Arrive(pieces[1].bytes);
  EXPECT_TRUE(is_terminated());
}

// The rest of the first message may have arrived, and its key has ended before it is delivered.
TEST_F(IwarpOneTouchTest, AfterTheStreamIsTerminatedAllThatArrivesIsDropped) {
  Begin();
  const auto pieces = FramesOf({2});
  Arrive(pieces[1]);
  memory::WindowBinding nothing{};
  nothing.by_index = true;
  ASSERT_TRUE(end_.node.core.windows.Bind(window_, nothing, end_.who));
  Arrive(pieces[0]);
  EXPECT_TRUE(is_terminated());
  EXPECT_TRUE(end_.inbox.empty());
  EXPECT_EQ(end_.taken_end.value(), pieces[1].start.value() + pieces[1].bytes.size());
}

TEST_F(IwarpOneTouchTest, AKeyThatAnotherStreamTouchedIsSpentForThisOne) {
  Begin();
  const auto pieces = FramesOf({2});
  const auto touched = end_.node.core.one_touch.Touch(
      window_, {.ends_message = true, .last_byte = memory::StreamNumber(1'000'000)},
      {.next_expected = memory::StreamNumber(1), .window = 2'000'000},
      {.pd = end_.node.pd, .qp = QpNumber(99)});
  ASSERT_EQ(touched, memory::TouchAction::kPlaceAndRemember);
  Arrive(pieces[0]);
  EXPECT_TRUE(is_terminated());
  EXPECT_EQ(end_.node.Read(kWindowStart, kPayload), Bytes(kPayload));
  end_.node.core.one_touch.StreamEnded(QpNumber(99));
}

// Row A5, for reads: the key lasts until the response is framed, and serves nothing else.
TEST_F(IwarpOneTouchTest, AReadSpendsTheKeyWhenItIsDelivered) {
  Begin();
  const auto bound = end_.node.core.windows.Bind(window_,
                                                 {.region = end_.node.keys.local,
                                                  .start = KeyAddress(RcNode::kBase),
                                                  .length = 2 * kPage,
                                                  .rights = Access::kRemoteRead,
                                                  .one_touch = true,
                                                  .by_index = true},
                                                 end_.who);
  window_ = *bound;
  SendBuffer buffer(100'000);
  MpaSender sender(end_.config.stream, buffer);
  const auto send_read = [&](uint32_t msn) {
    ASSERT_TRUE(sender.Begin(18 + 28));
    wire::DdpUntagged{.control = {.last = true, .opcode = RdmapOpcode::kReadRequest},
                      .queue = wire::DdpQueue::kReadRequest,
                      .msn = wire::DdpMsn(msn)}
        .Serialize(sender.ulpdu());
    wire::RdmapReadRequest{
        .size = 2 * kPage, .source_stag = window_, .source_offset = KeyAddress(RcNode::kBase)}
        .Serialize(sender.ulpdu().subspan(18));
    sender.End();
    end_.Arrive(TakeAll(buffer));
  };
  send_read(1);
  EXPECT_FALSE(is_terminated());
  end_.Run();  // the send buffer takes a part of the response
  EXPECT_TRUE(end_.qp->wants_room());
  send_read(2);
  EXPECT_TRUE(is_terminated());
  EXPECT_EQ(end_.qp->terminate_sent()->code, TerminateCode::kRdmapInvalidStag);
}

}  // namespace
}  // namespace verbena::transport
