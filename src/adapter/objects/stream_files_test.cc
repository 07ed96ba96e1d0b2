#include "adapter/objects/stream_files.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "transport/iwarp/mpa_handshake.h"
#include "wire/iwarp/mpa_fpdu.h"

namespace verbena::adapter {
namespace {

using fabric::Interest;
using fabric::ReadyId;
using Bytes = std::vector<std::byte>;
using End = fabric::TcpTransfer::End;

Time Now() {
  return Time() + Nanoseconds(std::chrono::steady_clock::now().time_since_epoch().count());
}

// A connection of each wire, between two sets of files.
class StreamFilesTest : public testing::TestWithParam<StreamWire> {
 protected:
  static constexpr Interest kReads{.reads = true}, kWrites{.writes = true};
  static constexpr ReadyId kListener{1}, kHere{2}, kThere{3};

  StreamFilesTest() {
    EXPECT_TRUE(listener_.Listen(4));
    EXPECT_TRUE(server_.Watch(listener_, kListener, {}, kReads));
    EXPECT_TRUE(here_.Connect(listener_.local()));
    EXPECT_TRUE(client_.Watch(here_, kHere, {}, kWrites));
    EXPECT_TRUE(Await([&] { return here_.ConnectError() == 0 && Accept(); }));
    EXPECT_TRUE(client_.Watch(here_, kHere, kWrites, {}));
    EXPECT_TRUE(server_.Watch(there_, kThere, {}, kReads));
  }

  static StreamFiles Open() { return std::move(*StreamFiles::Open(GetParam())); }
  static IwarpSocket Bound(const StreamFiles& files) {
    return std::move(*files.Bind({.ip = IpAddress::FromIpv4(127, 0, 0, 1)}, false));
  }
  bool Accept() {
    auto accepted = listener_.Accept();
    if (accepted && *accepted) there_ = std::move(**accepted);
    return there_.is_open();
  }
  static bool IsReady(const StreamFiles& files, ReadyId id) {
    fabric::ReadySet::Ready room;
    return std::ranges::count(files.Look(room, Now()), id) > 0;
  }
  // Until it is true, for at most 10 s. Packets and timers go on.
  bool Await(const std::function<bool()>& is_true) {
    for (int i = 0; i < 2'000; ++i) {
      fabric::ReadySet::Ready room;
      static_cast<void>(client_.Look(room, Now()));
      if (is_true()) return true;
      static_cast<void>(server_.Look(room, Now()));
      poll(nullptr, 0, 5);
    }
    return false;
  }
  void Write(const Bytes& bytes) { EXPECT_EQ(here_.Write({bytes, {}}).bytes, bytes.size()); }
  static Bytes Request() {
    const auto frame = transport::MakeMpaRequest({}, {});
    return {frame.bytes().begin(), frame.bytes().end()};
  }
  static Bytes RecordOf(uint16_t size, std::byte value) {
    Bytes record(wire::FpduHeader::kSize + size, value);
    wire::FpduHeader{.ulpdu_length = size}.Serialize(record);
    return record;
  }

  StreamFiles server_ = Open();
  StreamFiles client_ = Open();
  IwarpSocket listener_ = Bound(server_);
  IwarpSocket here_ = Bound(client_);
  IwarpSocket there_;
};

INSTANTIATE_TEST_SUITE_P(Wires, StreamFilesTest,
                         testing::Values(StreamWire::kTcp, StreamWire::kSctp));

// Over SCTP a read takes whole records, and what is left was received: nothing else tells of it.
TEST_P(StreamFilesTest, WhatAReadHasLeftIsReported) {
  constexpr uint16_t kSize = 25'000;
  constexpr size_t kRecords = 4;
  Write(Request());
  for (size_t i = 0; i < kRecords; ++i) Write(RecordOf(kSize, std::byte{7}));
  Bytes room(there_.read_min() + kSize);
  size_t total = 0;
  const size_t all = Request().size() + kRecords * RecordOf(kSize, {}).size();
  EXPECT_TRUE(Await([&] {
    EXPECT_TRUE(server_.Watch(there_, kThere, kReads, kReads));
    if (IsReady(server_, kThere)) total += there_.Read(room).bytes;
    return total == all;
  })) << total;
  EXPECT_FALSE(IsReady(server_, kThere));
}

TEST_P(StreamFilesTest, TheEndComesBehindWhatWasWritten) {
  Write(Request());
  here_.CloseWrites();
  Bytes room(there_.read_min());
  size_t total = 0;
  EXPECT_TRUE(Await([&] {
    const auto read = there_.Read(room);
    total += read.bytes;
    return read.end == End::kClosed;
  }));
  EXPECT_EQ(total, Request().size());
}

}  // namespace
}  // namespace verbena::adapter
