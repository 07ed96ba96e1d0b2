#include "verbena/shared_buffers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"
#include "host/broker.h"

namespace verbena {
namespace {

constexpr uint64_t kBytes = 16'384;

// src/host has the tests with several processes, and with lies.
class SharedBuffersThreads : public testing::Test {
 protected:
  SharedBuffersThreads() {
    std::string folder = "/tmp/verbena-shared-XXXXXX";
    folder_ = mkdtemp(folder.data());
    host::BrokerOptions options;
    options.socket = folder_ + "/broker.sock";
    thread_ = std::thread([this, broker = std::move(host::Broker::Open(options).value())] {
      while (!stop_) broker->Step(Milliseconds(20));
    });
    list_ = SharedBuffers::Open(options.socket).value();
    EXPECT_EQ(ftruncate(file_.get(), kBytes), 0);
  }
  ~SharedBuffersThreads() override {
    stop_ = true;
    thread_.join();
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] static SharedBuffer Named(const char* name, Access access) {
    return {.name = name, .length = kBytes, .remote = {0x7000, Key(7)}, .access = access};
  }

  std::string folder_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
  FileDescriptor file_{memfd_create("shared", MFD_CLOEXEC)};
  SharedBuffers list_;
};

TEST_F(SharedBuffersThreads, AHandleIsTheBuffer) {
  {
    auto published = list_.Publish(Named("frames", Access::kRemote), file_.get());
    ASSERT_TRUE(published) << published.error().text;
    PublishedBuffer moved = std::move(*published);
    EXPECT_TRUE(moved.is_listed());
    auto found = list_.Find("frames", Access::kRemoteRead);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_current());
    EXPECT_EQ(found->buffer(), Named("frames", Access::kRemote));
    EXPECT_EQ(found->owner().pid, static_cast<uint32_t>(getpid()));
    EXPECT_EQ(list_.List()->at(0).users, 1U);
    found->Release();
    EXPECT_FALSE(found->is_current());
    EXPECT_EQ(found->file(), -1);
    EXPECT_EQ(list_.List()->at(0).users, 0U);
  }
  EXPECT_TRUE(list_.List()->empty());
  const auto gone = list_.Find("frames", Access::kRemoteRead);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().os_error, ENOENT);
}

// A process that may read through the R_Key gets memory that it may read.
TEST_F(SharedBuffersThreads, TheFileHasTheRightsOfTheKey) {
  const auto readable = list_.Publish(Named("readable", Access::kRemoteRead), file_.get());
  const auto writable = list_.Publish(Named("writable", Access::kRemote), file_.get());
  ASSERT_TRUE(readable && writable);
  const auto mode = [](const FoundBuffer& found) {
    return fcntl(found.file(), F_GETFL) & O_ACCMODE;
  };
  EXPECT_EQ(mode(*list_.Find("readable", Access::kRemoteRead)), O_RDONLY);
  EXPECT_EQ(mode(*list_.Find("writable", Access::kRemoteRead)), O_RDWR);
  EXPECT_FALSE(list_.Find("readable", Access::kRemoteWrite));
}

TEST_F(SharedBuffersThreads, OtherUsersGetNoFileThatTheyCouldOpenForWriting) {
  SharedBuffer buffer = Named("frames", Access::kRemoteRead);
  buffer.audience = BufferAudience::kAllUsers;
  ASSERT_EQ(fchmod(file_.get(), 0666), 0);
  const auto refused = list_.Publish(buffer, file_.get());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("fchmod(file, 0600)"), std::string::npos);
  ASSERT_EQ(fchmod(file_.get(), 0600), 0);
  EXPECT_TRUE(list_.Publish(buffer, file_.get()));
}

TEST_F(SharedBuffersThreads, BytesOfAFileAreFoundByTheFile) {
  const auto published = list_.Publish(Named("frames", Access::kRemoteRead), file_.get());
  ASSERT_TRUE(published);
  const auto found = list_.Find(file_.get(), 4'096, 4'096, Access::kRemoteRead);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->buffer().name, "frames");
  EXPECT_EQ(found->file(), -1);
  EXPECT_FALSE(list_.Find(file_.get(), 4'096, kBytes, Access::kRemoteRead));
  EXPECT_FALSE(list_.Find(-1, 0, 1, Access::kRemoteRead));
}

TEST_F(SharedBuffersThreads, HandlesOutliveTheList) {
  auto published = list_.Publish(Named("frames", Access::kRemoteRead), file_.get());
  auto found = list_.Find("frames", Access::kRemoteRead);
  ASSERT_TRUE(published && found);
  list_ = {};
  EXPECT_TRUE(found->is_current());
  EXPECT_TRUE(published->is_listed());
}

TEST(SharedBuffersTest, AnEmptyHandleDoesNothing) {
  SharedBuffers list;
  EXPECT_FALSE(list);
  EXPECT_FALSE(list.Publish({}, -1));
  EXPECT_FALSE(list.Find("frames", Access::kRemoteRead));
  EXPECT_FALSE(list.Find(-1, 0, 1, Access::kRemoteRead));
  EXPECT_FALSE(list.List());
  PublishedBuffer published;
  EXPECT_FALSE(published.is_listed());
  FoundBuffer found;
  EXPECT_FALSE(found.is_current());
  const auto nowhere = SharedBuffers::Open("/nowhere/broker.sock");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().text.find("no broker answers at /nowhere"), std::string::npos);
}

}  // namespace
}  // namespace verbena
