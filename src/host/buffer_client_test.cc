#include "host/buffer_client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "host/broker.h"

namespace verbena::host {
namespace {

constexpr uint64_t kBytes = 16'384;

bool Eventually(const std::function<bool()>& condition, Duration patience = Seconds(10)) {
  for (const Time end = Now() + patience; Now() < end; usleep(1'000)) {
    if (condition()) return true;
  }
  return condition();
}

FileDescriptor NewFile() {
  FileDescriptor file(memfd_create("shared", MFD_CLOEXEC));
  EXPECT_EQ(ftruncate(file.get(), kBytes), 0);
  return file;
}
FileDescriptor Copy(const FileDescriptor& file) {
  return FileDescriptor(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
}

SharedBuffer Named(const char* name) {
  return {.name = name,
          .offset = 4'096,
          .length = 8'192,
          .remote = {0x7000, Key(0x1234)},
          .access = Access::kRemote,
          .contact = "10.0.0.7:18515"};
}

// A broker on a thread of its own, which can be ended and started again.
class BufferClientThreads : public testing::Test {
 protected:
  BufferClientThreads() {
    std::string folder = "/tmp/verbena-buffers-XXXXXX";
    folder_ = mkdtemp(folder.data());
    std::filesystem::permissions(folder_, std::filesystem::perms::all);
    options_.socket = folder_ + "/broker.sock";
    options_.arbiter.budget = uint64_t{1} << 20;
    Start();
  }
  ~BufferClientThreads() override {
    Stop();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    stop_ = false;
    auto broker = Broker::Open(options_);
    ASSERT_TRUE(broker) << broker.error().text;
    thread_ = std::thread([this, broker = std::move(*broker)] {
      while (!stop_) broker->Step(Milliseconds(20));
    });
  }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] std::shared_ptr<BufferClient> Open() const {
    auto client = BufferClient::Open({.socket = options_.socket});
    EXPECT_TRUE(client) << client.error().text;
    return client ? *client : nullptr;
  }
  [[nodiscard]] size_t ListSize() const {
    const auto list = Open()->List();
    return list ? list->size() : SIZE_MAX;
  }

  // Runs `work` in another process, which then waits to be killed; returns when it is done.
  template <class Work>
  pid_t Fork(Work work) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const FileDescriptor read_end(ends[0]), write_end(ends[1]);
    const pid_t child = fork();
    if (child == 0) {
      const char done = work() ? 'y' : 'n';
      static_cast<void>(write(write_end.get(), &done, 1));
      while (true) pause();
    }
    char done = 0;
    EXPECT_EQ(read(read_end.get(), &done, 1), 1);
    EXPECT_EQ(done, 'y');
    return child;
  }
  static void Kill(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  std::string folder_;
  BrokerOptions options_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(BufferClientThreads, WhatOneProcessPublishesAnotherFindsAndMaps) {
  const auto socket = options_.socket;
  const pid_t owner = Fork([&] {
    static const auto client = *BufferClient::Open({.socket = socket});
    FileDescriptor file = NewFile();
    auto* const bytes = static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
    std::strcpy(bytes + 4'096, "of the owner");
    return client->Publish(Named("frames"), std::move(file)).has_value();
  });
  const auto client = Open();
  const auto found = client->Find("frames", Access::kRemoteRead);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->entry.buffer, Named("frames"));
  EXPECT_EQ(found->entry.owner.pid, static_cast<uint32_t>(owner));
  EXPECT_EQ(found->entry.owner.uid, geteuid());
  const auto* const bytes =
      static_cast<const char*>(mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, found->file.get(), 0));
  EXPECT_STREQ(bytes + 4'096, "of the owner");
  EXPECT_FALSE(found->has_ended->load());
  const auto in_file = client->Find(found->file.get(), 8'192, 4'096, Access::kRemoteWrite);
  ASSERT_TRUE(in_file) << in_file.error().text;
  EXPECT_EQ(in_file->entry.number, found->entry.number);
  EXPECT_FALSE(in_file->file.is_open());
  Kill(owner);
  EXPECT_TRUE(Eventually([&] { return found->has_ended->load(); }));
  EXPECT_TRUE(in_file->has_ended->load());
  const auto gone = client->Find("frames", Access::kRemoteRead);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().os_error, ENOENT);
}

// The socket of a killed owner is open in its children; what it registered is not there.
TEST_F(BufferClientThreads, AnOwnerEndsThoughItsChildHasTheSocket) {
  const auto socket = options_.socket;
  pid_t* const grandchild = static_cast<pid_t*>(
      mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t owner = Fork([&] {
    static const auto client = *BufferClient::Open({.socket = socket});
    const bool is_done = client->Publish(Named("frames"), NewFile()).has_value();
    const pid_t made = fork();
    if (made == 0) {
      while (true) pause();
    }
    *grandchild = made;
    return is_done && made > 0;
  });
  EXPECT_EQ(ListSize(), 1U);
  Kill(owner);
  EXPECT_TRUE(Eventually([&] { return ListSize() == 0; }));
  ASSERT_GT(*grandchild, 0);
  EXPECT_EQ(kill(*grandchild, SIGKILL), 0);
}

TEST_F(BufferClientThreads, AChildOfAForkDoesNothing) {
  const auto client = Open();
  const auto id = client->Publish(Named("frames"), NewFile());
  ASSERT_TRUE(id);
  const pid_t child = fork();
  if (child == 0) {
    client->Withdraw(*id);
    const auto found = client->Find("frames", Access::kRemoteRead);
    _exit(!found && found.error().code == ErrorCode::kForked && !client->IsListed(*id) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(client->IsListed(*id));
  EXPECT_EQ(ListSize(), 1U);
}

TEST_F(BufferClientThreads, WithdrawnIsNotFound) {
  const auto owner = Open(), other = Open();
  const auto id = owner->Publish(Named("frames"), NewFile());
  ASSERT_TRUE(id);
  const auto found = other->Find("frames", Access::kRemoteRead);
  ASSERT_TRUE(found);
  owner->Withdraw(*id);
  EXPECT_TRUE(Eventually([&] { return found->has_ended->load(); }));
  EXPECT_FALSE(other->Find("frames", Access::kRemoteRead));
  other->Release(found->entry.number, found->has_ended);
  EXPECT_EQ(ListSize(), 0U);
}

TEST_F(BufferClientThreads, UsersAreSeenUntilTheyRelease) {
  const auto owner = Open(), other = Open();
  ASSERT_TRUE(owner->Publish(Named("frames"), NewFile()));
  const auto first = other->Find("frames", Access::kRemoteRead);
  const auto second = other->Find("frames", Access::kRemoteRead);
  ASSERT_TRUE(first && second);
  const auto users = [&] { return owner->List()->at(0).users; };
  EXPECT_EQ(users(), 2U);
  other->Release(first->entry.number, first->has_ended);
  EXPECT_TRUE(Eventually([&] { return users() == 1U; }));
  EXPECT_FALSE(second->has_ended->load());
  other->Release(second->entry.number, second->has_ended);
  EXPECT_TRUE(Eventually([&] { return users() == 0U; }));
}

TEST_F(BufferClientThreads, TheNextBrokerHasWhatWasPublished) {
  const auto owner = Open(), other = Open();
  const auto id = owner->Publish(Named("frames"), NewFile());
  const auto ended = owner->Publish(Named("withdrawn"), NewFile());
  ASSERT_TRUE(id && ended);
  const auto found = other->Find("frames", Access::kRemoteRead);
  ASSERT_TRUE(found);
  Stop();
  EXPECT_TRUE(Eventually([&] { return found->has_ended->load(); }));
  EXPECT_TRUE(Eventually([&] { return !owner->IsListed(*id); }));
  EXPECT_FALSE(other->Find("frames", Access::kRemoteRead));
  owner->Withdraw(*ended);
  Start();
  EXPECT_TRUE(Eventually([&] { return owner->IsListed(*id); }));
  EXPECT_EQ(ListSize(), 1U);
  std::optional<ErrorOr<BufferClient::Found>> again;
  EXPECT_TRUE(Eventually([&] {
    again = other->Find("frames", Access::kRemoteRead);
    return again->has_value();
  }));
  // Of the first broker, whose numbers mean nothing now.
  other->Release(found->entry.number, found->has_ended);
  EXPECT_EQ(owner->List()->at(0).users, 1U);
}

TEST_F(BufferClientThreads, ARefusalSaysWhy) {
  const auto owner = Open();
  const FileDescriptor file = NewFile();
  const auto bad = owner->Publish(Named(""), Copy(file));
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().text.find("1 to 63 letters"), std::string::npos) << bad.error().text;
  ASSERT_TRUE(owner->Publish(Named("frames"), Copy(file)));
  const auto twice = owner->Publish(Named("frames"), Copy(file));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::kInUse);
  const auto pipe_end = owner->Publish(Named("pipe"), FileDescriptor(dup(STDERR_FILENO)));
  ASSERT_FALSE(pipe_end);
  EXPECT_NE(pipe_end.error().text.find("no shared memory"), std::string::npos);
  EXPECT_FALSE(BufferClient::Open({.socket = folder_ + "/none"}));
}

TEST_F(BufferClientThreads, ALongListComesWhole) {
  const auto owner = Open();
  const FileDescriptor file = NewFile();
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(owner->Publish(Named(("b" + std::to_string(i)).c_str()), Copy(file)));
  }
  const auto list = owner->List();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 300U);
  EXPECT_EQ(list->back().buffer.name, "b299");
}

// What another user's process may do is checked by the user that the kernel reports.
TEST_F(BufferClientThreads, AnotherUserFindsWhatIsForAll) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  constexpr uid_t kOther = 65'533, kUnknown = 65'532;
  Stop();
  options_.allowed_users = {kOther};
  Start();
  const auto owner = Open();
  SharedBuffer for_all = Named("public");
  for_all.audience = BufferAudience::kAllUsers;
  ASSERT_TRUE(owner->Publish(Named("private"), NewFile()));
  ASSERT_TRUE(owner->Publish(for_all, NewFile()));
  const auto socket = options_.socket;
  const pid_t other = Fork([&] {
    if (setuid(kOther) != 0) return false;
    const auto client = BufferClient::Open({.socket = socket});
    if (!client) return false;
    const auto hidden = (*client)->Find("private", Access::kRemoteRead);
    const auto list = (*client)->List();
    return !hidden && hidden.error().os_error == ENOENT &&
           (*client)->Find("public", Access::kRemoteRead).has_value() && list && list->size() == 1;
  });
  const pid_t unknown = Fork([&] {
    if (setuid(kUnknown) != 0) return false;
    const auto client = BufferClient::Open({.socket = socket});
    return !client && client.error().code == ErrorCode::kNotPermitted;
  });
  Kill(other);
  Kill(unknown);
}

// --- Processes that lie: their connection ends, and no other. ---

class LyingClientThreads : public BufferClientThreads {
 protected:
  LyingClientThreads() : honest_(Open()) {
    auto channel = BrokerChannel::Connect(options_.socket);
    EXPECT_TRUE(channel);
    liar_.emplace(std::move(*channel));
  }
  ~LyingClientThreads() override { EXPECT_TRUE(honest_->List()) << "the broker serves others"; }
  void Say(const BrokerMessage& message, int file = -1) {
    EXPECT_EQ(liar_->Send(message, file), BrokerChannel::Status::kDone);
  }
  [[nodiscard]] BrokerMessage Hear() {
    std::optional<BrokerMessage> heard;
    EXPECT_TRUE(Eventually([&] {
      auto received = liar_->Receive();
      if (received) heard = std::move(received->message);
      return heard.has_value() || liar_->has_ended();
    }));
    return heard.value_or(GoodbyeMessage{});
  }
  [[nodiscard]] bool IsEnded() {
    return Eventually([&] {
      static_cast<void>(liar_->Receive());
      return liar_->has_ended();
    });
  }

  std::shared_ptr<BufferClient> honest_;
  std::optional<BrokerChannel> liar_;
};

TEST_F(LyingClientThreads, WithoutHelloNothingIsServed) {
  Say(BufferListMessage{});
  EXPECT_TRUE(IsEnded());
}

TEST_F(LyingClientThreads, AnotherVersionIsRefused) {
  Say(BufferHelloMessage{.version = 9});
  EXPECT_TRUE(std::holds_alternative<RefusedMessage>(Hear()));
  EXPECT_TRUE(IsEnded());
}

TEST_F(LyingClientThreads, ANumberOfAnotherConnectionEndsTheConnection) {
  ASSERT_TRUE(honest_->Publish(Named("frames"), NewFile()));
  Say(BufferHelloMessage{});
  EXPECT_TRUE(std::holds_alternative<BufferWelcomeMessage>(Hear()));
  Say(BufferReleaseMessage{BufferNumber(1)});
  Say(BufferListMessage{.request = 1});
  EXPECT_TRUE(std::holds_alternative<BufferRowMessage>(Hear())) << "a release may come too late";
  EXPECT_TRUE(std::holds_alternative<BufferRowsMessage>(Hear()));
  Say(BufferWithdrawMessage{BufferNumber(1)});
  EXPECT_TRUE(IsEnded());
  EXPECT_EQ(ListSize(), 1U);
}

TEST_F(LyingClientThreads, WhatIsNoMemoryIsRefused) {
  Say(BufferHelloMessage{});
  static_cast<void>(Hear());
  Say(BufferPublishMessage{.request = 1, .buffer = Named("frames")});
  EXPECT_TRUE(std::holds_alternative<BufferFailedMessage>(Hear())) << "no file";
  Say(BufferPublishMessage{.request = 2, .buffer = Named("frames")}, STDERR_FILENO);
  EXPECT_TRUE(std::holds_alternative<BufferFailedMessage>(Hear()));
  Say(BufferFindMessage{.request = 3, .name = {}, .offset = 0, .length = 1, .access = {}});
  EXPECT_TRUE(std::holds_alternative<BufferFailedMessage>(Hear()));
  Say(BufferFoundMessage{});
  EXPECT_TRUE(IsEnded()) << "an answer is no request";
}

TEST_F(LyingClientThreads, AGuestIsNoClientAndAClientNoGuest) {
  Say(BufferHelloMessage{});
  static_cast<void>(Hear());
  Say(HelloMessage{.name = "guest", .limits = {.min = 65'536}});
  EXPECT_TRUE(IsEnded());
}

TEST_F(LyingClientThreads, FilesAreBounded) {
  Say(BufferHelloMessage{});
  static_cast<void>(Hear());
  for (uint64_t i = 1; i <= BufferOptions{}.client_files_max; ++i) {
    const FileDescriptor file = NewFile();
    Say(BufferPublishMessage{i, Named(("b" + std::to_string(i)).c_str())}, file.get());
    ASSERT_TRUE(std::holds_alternative<BufferPublishedMessage>(Hear())) << i;
  }
  const FileDescriptor file = NewFile();
  Say(BufferPublishMessage{.request = 99, .buffer = Named("more")}, file.get());
  const auto answer = Hear();
  ASSERT_TRUE(std::holds_alternative<BufferFailedMessage>(answer));
  EXPECT_EQ(std::get<BufferFailedMessage>(answer).code, ErrorCode::kLimit);
  Say(BufferWithdrawMessage{BufferNumber(1)});
  Say(BufferPublishMessage{.request = 100, .buffer = Named("more")}, file.get());
  EXPECT_TRUE(std::holds_alternative<BufferPublishedMessage>(Hear()));
}

}  // namespace
}  // namespace verbena::host
