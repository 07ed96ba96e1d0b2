#include "host/buffer_service.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

SharedBuffer Named(const char* name) {
  return {.name = name, .length = 4'096, .access = Access::kRemoteRead};
}

// buffer_client_test.cc has it behind a socket, with processes.
class BufferServiceTest : public testing::Test {
 protected:
  static constexpr uint64_t kOwner = 1, kOther = 2;

  BufferServiceTest() {
    service_.Attach(kOwner, {.pid = 11, .uid = 1'000}, false);
    service_.Attach(kOther, {.pid = 12, .uid = 1'000}, false);
    EXPECT_EQ(service_.TakeOutgoing().size(), 2U) << "a welcome for each";
    EXPECT_EQ(ftruncate(file_.get(), 65'536), 0);
  }
  ~BufferServiceTest() override {
    EXPECT_TRUE(service_.directory().IsConsistent());
    service_.OnGone(kOwner);
    EXPECT_EQ(service_.file_count(), 0U);
  }

  [[nodiscard]] FileDescriptor Copy() const {
    return FileDescriptor(fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  }
  // Its number, or 0.
  BufferNumber Publish(const SharedBuffer& buffer) {
    EXPECT_TRUE(service_.Handle(kOwner, {BufferPublishMessage{7, buffer}, Copy()}));
    const auto answers = service_.TakeOutgoing();
    const auto* const made = std::get_if<BufferPublishedMessage>(&answers.at(0).message);
    return made != nullptr ? made->number : BufferNumber();
  }

  BufferService service_{BufferOptions{.client_files_max = 1}};
  FileDescriptor file_{memfd_create("shared", MFD_CLOEXEC)};
};

TEST_F(BufferServiceTest, AFileIsHeldOnceUntilItsLastBufferIsWithdrawn) {
  const BufferNumber first = Publish(Named("first")), second = Publish(Named("second"));
  EXPECT_EQ(service_.file_count(), 1U);
  EXPECT_TRUE(service_.Handle(kOwner, {BufferWithdrawMessage{first}, {}}));
  EXPECT_EQ(service_.file_count(), 1U);
  EXPECT_TRUE(service_.Handle(kOwner, {BufferWithdrawMessage{second}, {}}));
  EXPECT_EQ(service_.file_count(), 0U);
}

TEST_F(BufferServiceTest, WhatIsFoundByItsNameComesWithItsFile) {
  static_cast<void>(Publish(Named("frames")));
  EXPECT_TRUE(service_.Handle(kOther, {BufferFindMessage{.request = 3, .name = "frames"}, {}}));
  const auto named = service_.TakeOutgoing();
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].client, kOther);
  ASSERT_NE(named[0].file, nullptr);
  EXPECT_EQ(InspectSharedFile(named[0].file->get())->identity,
            InspectSharedFile(file_.get())->identity);
  const BufferFindMessage in_file{.request = 4, .length = 4'096};
  EXPECT_TRUE(service_.Handle(kOther, {in_file, Copy()}));
  const auto found = service_.TakeOutgoing();
  ASSERT_TRUE(std::holds_alternative<BufferFoundMessage>(found.at(0).message));
  EXPECT_EQ(found[0].file, nullptr) << "the process has it";
}

TEST_F(BufferServiceTest, AnOwnerThatIsGoneIsReportedToThoseThatFound) {
  const BufferNumber number = Publish(Named("frames"));
  EXPECT_TRUE(service_.Handle(kOther, {BufferFindMessage{.request = 3, .name = "frames"}, {}}));
  static_cast<void>(service_.TakeOutgoing());
  service_.OnGone(kOwner);
  const auto outgoing = service_.TakeOutgoing();
  ASSERT_EQ(outgoing.size(), 1U);
  EXPECT_EQ(outgoing[0].client, kOther);
  EXPECT_EQ(outgoing[0].message, BrokerMessage(BufferEndedMessage{number}));
  EXPECT_FALSE(service_.has_client(kOwner));
  EXPECT_EQ(service_.file_count(), 0U);
}

TEST_F(BufferServiceTest, AFailureRepeatsTheRequest) {
  EXPECT_TRUE(service_.Handle(kOther, {BufferFindMessage{.request = 3, .name = "none"}, {}}));
  const auto outgoing = service_.TakeOutgoing();
  const auto& failed = std::get<BufferFailedMessage>(outgoing.at(0).message);
  EXPECT_EQ(failed.request, 3U);
  EXPECT_EQ(failed.os_error, static_cast<uint32_t>(ENOENT));
  EXPECT_EQ(failed.why, "there is no buffer 'none'");
}

TEST_F(BufferServiceTest, AConnectionThatIsNoClientIsNone) {
  service_.OnGone(99);
  EXPECT_TRUE(service_.TakeOutgoing().empty());
}

}  // namespace
}  // namespace verbena::host
