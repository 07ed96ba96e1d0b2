#include "host/buffer_directory.h"

#include <array>
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::host {
namespace {

constexpr SharedFile kFile{
    .identity = {.device = 1, .inode = 7}, .bytes = 65'536, .is_writable = true};
constexpr SharedFile kReadable{.identity = kFile.identity, .bytes = 65'536, .is_writable = false};
constexpr Access kReadWrite = Access::kRemoteRead | Access::kRemoteWrite;

SharedBuffer Frames() {
  return {.name = "frames",
          .offset = 4'096,
          .length = 8'192,
          .remote = {0x7000, Key(0x1234)},
          .access = Access::kRemoteRead};
}

class BufferDirectoryTest : public testing::Test {
 protected:
  static constexpr uint64_t kOwner = 1, kOther = 2, kStranger = 3, kRoot = 4;

  BufferDirectoryTest() {
    directory_.AddClient(kOwner, {.pid = 11, .uid = 1000}, false);
    directory_.AddClient(kOther, {.pid = 12, .uid = 1000}, false);
    directory_.AddClient(kStranger, {.pid = 13, .uid = 1001}, false);
    directory_.AddClient(kRoot, {.pid = 14, .uid = 0}, true);
  }
  ~BufferDirectoryTest() override { EXPECT_TRUE(directory_.IsConsistent()); }

  BufferDirectory directory_{BufferOptions{}};
};

TEST_F(BufferDirectoryTest, AnotherProcessFindsABufferByItsName) {
  const auto number = directory_.Publish(kOwner, Frames(), kFile);
  ASSERT_TRUE(number);
  const auto found = directory_.FindByName(kOther, "frames", Access::kRemoteRead);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (SharedBufferEntry{*number, Frames(), {.pid = 11, .uid = 1000}, 1}));
}

TEST_F(BufferDirectoryTest, AProcessThatHasTheFileFindsWhatCoversItsBytes) {
  ASSERT_TRUE(directory_.Publish(kOwner, Frames(), kFile));
  EXPECT_TRUE(directory_.FindInFile(kStranger, kReadable, 4'096, 8'192, Access::kRemoteRead));
  EXPECT_TRUE(directory_.FindInFile(kStranger, kReadable, 12'287, 1, Access::kRemoteRead));
  for (const auto& [offset, length] : {std::pair<uint64_t, uint64_t>{4'095, 2},
                                       {12'287, 2},
                                       {0, 1},
                                       {4'096, 0},
                                       {4'097, UINT64_MAX}}) {
    EXPECT_FALSE(directory_.FindInFile(kStranger, kReadable, offset, length, Access::kRemoteRead))
        << offset;
  }
  SharedFile other = kReadable;
  other.identity.inode = 8;
  const auto none = directory_.FindInFile(kStranger, other, 4'096, 1, Access::kRemoteRead);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().os_error, ENOENT);
}

// A key that lets peers write is not given to a process that can only read the memory.
TEST_F(BufferDirectoryTest, AKeyGivesNoMoreThanTheDescriptor) {
  SharedBuffer buffer = Frames();
  buffer.access = kReadWrite;
  ASSERT_TRUE(directory_.Publish(kOwner, buffer, kFile));
  const auto refused = directory_.FindInFile(kOther, kReadable, 4'096, 1, Access::kRemoteRead);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotPermitted);
  EXPECT_TRUE(directory_.FindInFile(kOther, kFile, 4'096, 1, kReadWrite));
  EXPECT_FALSE(directory_.FindInFile(kOther, kFile, 4'096, 1, Access::kRemoteAtomic));
}

TEST_F(BufferDirectoryTest, AnOwnerMayPublishBytesTwiceWithDifferentRights) {
  SharedBuffer writable = Frames();
  writable.name = "writable";
  writable.access = kReadWrite;
  ASSERT_TRUE(directory_.Publish(kOwner, writable, kFile));
  ASSERT_TRUE(directory_.Publish(kOwner, Frames(), kFile));
  const auto read = directory_.FindInFile(kOther, kReadable, 4'096, 1, Access::kRemoteRead);
  const auto write = directory_.FindInFile(kOther, kFile, 4'096, 1, kReadWrite);
  ASSERT_TRUE(read && write);
  EXPECT_EQ(read->buffer.name, "frames");
  EXPECT_EQ(write->buffer.name, "writable");
}

TEST_F(BufferDirectoryTest, ABufferHasOneOwner) {
  ASSERT_TRUE(directory_.Publish(kOwner, Frames(), kFile));
  const auto same_name =
      directory_.Publish(kOther, Frames(), {.identity = {9, 9}, .bytes = 65'536});
  ASSERT_FALSE(same_name);
  EXPECT_EQ(same_name.error().code, ErrorCode::kInUse);
  SharedBuffer overlapping = Frames();
  overlapping.name = "mine";
  overlapping.offset = 12'287;
  const auto same_bytes = directory_.Publish(kOther, overlapping, kFile);
  ASSERT_FALSE(same_bytes);
  EXPECT_EQ(same_bytes.error().text, "these bytes belong to buffer 'frames' of process 11");
  overlapping.offset = 12'288;
  EXPECT_TRUE(directory_.Publish(kOther, overlapping, kFile));
}

TEST_F(BufferDirectoryTest, ANameIsFoundByItsUserOnly) {
  ASSERT_TRUE(directory_.Publish(kOwner, Frames(), kFile));
  const auto hidden = directory_.FindByName(kStranger, "frames", Access::kRemoteRead);
  const auto missing = directory_.FindByName(kStranger, "nothing", Access::kRemoteRead);
  ASSERT_FALSE(hidden);
  ASSERT_FALSE(missing);
  EXPECT_EQ(hidden.error().code, missing.error().code);
  EXPECT_EQ(hidden.error().os_error, ENOENT);
  EXPECT_EQ(hidden.error().text, "there is no buffer 'frames'");
  EXPECT_TRUE(directory_.FindByName(kRoot, "frames", Access::kRemoteRead));
  EXPECT_TRUE(directory_.List(kStranger, {}, 10).empty());
  EXPECT_EQ(directory_.List(kOther, {}, 10).size(), 1U);
  EXPECT_EQ(directory_.List(kRoot, {}, 10).size(), 1U);
}

TEST_F(BufferDirectoryTest, ABufferForAllIsFoundByAll) {
  SharedBuffer buffer = Frames();
  buffer.audience = BufferAudience::kAllUsers;
  ASSERT_TRUE(directory_.Publish(kOwner, buffer, kFile));
  EXPECT_TRUE(directory_.FindByName(kStranger, "frames", Access::kRemoteRead));
  EXPECT_EQ(directory_.List(kStranger, {}, 10).size(), 1U);
}

TEST_F(BufferDirectoryTest, WhatIsWithdrawnEndsForThoseThatFoundIt) {
  const auto number = directory_.Publish(kOwner, Frames(), kFile);
  ASSERT_TRUE(directory_.FindByName(kOther, "frames", Access::kRemoteRead));
  ASSERT_TRUE(directory_.FindByName(kOther, "frames", Access::kRemoteRead));
  EXPECT_TRUE(directory_.Withdraw(kOwner, *number));
  EXPECT_EQ(directory_.TakeEnded(), (std::vector<BufferDirectory::Ended>{{kOther, *number}}));
  EXPECT_TRUE(directory_.TakeEnded().empty());
  EXPECT_FALSE(directory_.FindByName(kOther, "frames", Access::kRemoteRead));
  EXPECT_FALSE(directory_.Release(kOther, *number));
  const auto again = directory_.Publish(kOwner, Frames(), kFile);
  ASSERT_TRUE(again);
  EXPECT_NE(*again, *number) << "numbers are not used again";
}

TEST_F(BufferDirectoryTest, WhatAProcessPublishedEndsWithIt) {
  const auto number = directory_.Publish(kOwner, Frames(), kFile);
  ASSERT_TRUE(directory_.FindByName(kOther, "frames", Access::kRemoteRead));
  directory_.RemoveClient(kOwner);
  EXPECT_EQ(directory_.TakeEnded(), (std::vector<BufferDirectory::Ended>{{kOther, *number}}));
  EXPECT_EQ(directory_.size(), 0U);
  EXPECT_TRUE(directory_.Publish(kOther, Frames(), kFile)) << "the bytes have no owner any more";
}

TEST_F(BufferDirectoryTest, UsersAreCountedUntilTheyReleaseOrEnd) {
  const auto number = directory_.Publish(kOwner, Frames(), kFile);
  ASSERT_TRUE(directory_.FindByName(kOther, "frames", Access::kRemoteRead));
  ASSERT_TRUE(directory_.FindByName(kOther, "frames", Access::kRemoteRead));
  ASSERT_TRUE(directory_.FindByName(kRoot, "frames", Access::kRemoteRead));
  const auto users = [&] { return directory_.List(kOwner, {}, 1).at(0).users; };
  EXPECT_EQ(users(), 3U);
  EXPECT_TRUE(directory_.Release(kOther, *number));
  EXPECT_EQ(users(), 2U);
  directory_.RemoveClient(kOther);
  EXPECT_EQ(users(), 1U);
  EXPECT_TRUE(directory_.Release(kRoot, *number));
  EXPECT_FALSE(directory_.Release(kRoot, *number));
  EXPECT_EQ(users(), 0U);
}

TEST_F(BufferDirectoryTest, ANumberIsOfItsConnection) {
  const auto number = directory_.Publish(kOwner, Frames(), kFile);
  EXPECT_FALSE(directory_.Withdraw(kOther, *number));
  EXPECT_FALSE(directory_.Release(kOther, *number));
  EXPECT_FALSE(directory_.Withdraw(kOwner, BufferNumber(number->value() + 1)));
  EXPECT_EQ(directory_.size(), 1U);
}

TEST_F(BufferDirectoryTest, LiesAreRefused) {
  const auto refused = [&](auto change, const SharedFile& file = kFile) {
    SharedBuffer buffer = Frames();
    change(buffer);
    return !directory_.Publish(kOwner, buffer, file);
  };
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.name = ""; }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.name = "a\033[2J"; }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.name = std::string(64, 'a'); }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.contact = "\n"; }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.contact = std::string(64, 'a'); }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.length = 0; }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.length = UINT64_MAX; }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.offset = 65'536 - 8'191; }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.offset = UINT64_MAX; }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.access = Access::kNone; }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.access = Access::kAll; }));
  EXPECT_TRUE(refused([](SharedBuffer& buffer) { buffer.access = kReadWrite; }, kReadable));
  EXPECT_FALSE(refused([](SharedBuffer& buffer) { buffer.offset = 65'536 - 8'192; }, kReadable));
}

TEST_F(BufferDirectoryTest, EveryTableIsBounded) {
  BufferDirectory small(
      {.buffers_max = 3, .client_buffers_max = 2, .client_files_max = 1, .client_found_max = 1});
  small.AddClient(1, {.pid = 1, .uid = 1}, false);
  small.AddClient(2, {.pid = 2, .uid = 1}, false);
  SharedBuffer buffer = Frames();
  const auto publish = [&](uint64_t client) {
    buffer.name += "x";
    return small.Publish(client, buffer,
                         {.identity = {0, client}, .bytes = 65'536, .is_writable = true});
  };
  EXPECT_TRUE(publish(1) && publish(1));
  EXPECT_EQ(publish(1).error().code, ErrorCode::kLimit) << "of one process";
  EXPECT_TRUE(publish(2));
  EXPECT_EQ(publish(2).error().code, ErrorCode::kLimit) << "of all";
  EXPECT_TRUE(small.FindByName(2, "framesx", {}) && small.FindByName(2, "framesx", {}));
  EXPECT_EQ(small.FindByName(2, "framesxx", {}).error().code, ErrorCode::kLimit);
  EXPECT_TRUE(small.IsConsistent());
}

TEST_F(BufferDirectoryTest, TheListComesInParts) {
  for (int i = 0; i < 5; ++i) {
    SharedBuffer buffer = Frames();
    buffer.name += std::to_string(i);
    ASSERT_TRUE(directory_.Publish(kOwner, buffer, kFile));
  }
  const auto first = directory_.List(kOwner, {}, 3);
  ASSERT_EQ(first.size(), 3U);
  const auto rest = directory_.List(kOwner, first.back().number, 3);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest.back().buffer.name, "frames4");
}

// Clients come, publish, find, release and go in any order: the tables agree at every step, and no
// two processes have the same bytes.
TEST(BufferDirectorySeeds, TheTablesAgree) {
  Random random(20);
  BufferDirectory directory({.buffers_max = 24, .client_buffers_max = 8, .client_found_max = 6});
  std::vector<BufferNumber> numbers;
  std::array<uint64_t, 6> clients{};
  uint64_t last_client = 0;
  for (int step = 0; step < 20'000; ++step) {
    uint64_t& client = clients[random.Below(clients.size())];
    if (!directory.has_client(client)) {
      client = ++last_client;
      directory.AddClient(client, {.pid = static_cast<uint32_t>(client), .uid = 1}, true);
    }
    SharedBuffer buffer{.name = "b" + std::to_string(random.Below(16)),
                        .offset = random.Below(8),
                        .length = 1 + random.Below(4),
                        .access = Access::kRemoteRead};
    const SharedFile file{.identity = {1, random.Below(3)}, .bytes = 12, .is_writable = true};
    switch (random.Below(6)) {
      case 0:
      case 1:
        if (const auto number = directory.Publish(client, buffer, file)) numbers.push_back(*number);
        break;
      case 2:
        static_cast<void>(directory.FindByName(client, buffer.name, Access::kRemoteRead));
        break;
      case 3:
        static_cast<void>(directory.FindInFile(client, file, buffer.offset, 1, {}));
        break;
      case 4:
        if (numbers.empty()) break;
        static_cast<void>(directory.Release(client, numbers[random.Below(numbers.size())]));
        static_cast<void>(directory.Withdraw(client, numbers[random.Below(numbers.size())]));
        break;
      case 5:
        if (random.Below(10) == 0) directory.RemoveClient(client);
        break;
    }
    ASSERT_TRUE(directory.IsConsistent()) << step;
    for (const auto& [user, number] : directory.TakeEnded()) {
      ASSERT_FALSE(directory.Release(user, number)) << "it has ended for the user, too";
    }
  }
  EXPECT_GT(numbers.size(), 500U);
}

}  // namespace
}  // namespace verbena::host
