#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "host/agent.h"
#include "host/broker.h"
#include "tests/support/command_line.h"
#include "tests/support/fake_guest_memory.h"

namespace verbena::cli {
namespace {

class BrokerCommandTest : public testing::Test {
 protected:
  BrokerCommandTest() {
    std::string folder = "/tmp/verbena-broker-XXXXXX";
    folder_ = mkdtemp(folder.data());
    socket_ = folder_ + "/broker.sock";
    host::BrokerOptions options;
    options.socket = socket_;
    options.arbiter.budget = 64 << 20;
    thread_ = std::thread([this, broker = std::move(host::Broker::Open(options).value())] {
      while (!stop_) broker->Step(Milliseconds(20));
    });
  }
  ~BrokerCommandTest() override {
    stop_ = true;
    thread_.join();
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] CommandRun Run(const std::string& words) const {
    return RunCommand(AddBrokerCommand, "broker " + words + " --socket " + socket_);
  }

  std::string folder_, socket_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(BrokerCommandTest, OperatesABroker) {
  host::FakeGuestMemory memory(8 << 20);
  const auto agent = host::Agent::Start({.socket = socket_, .name = "web"}, memory);
  ASSERT_TRUE(agent) << agent.error().text;
  CommandRun run = Run("quiesce web 0x7 --hold");
  for (int i = 0; i < 200 && !run.outcome; ++i) {
    usleep(10'000);  // the guest has not declared its region yet
    run = Run("quiesce web 0x7 --hold");
  }
  ASSERT_TRUE(run.outcome) << run.outcome.error().text;
  EXPECT_EQ(run.output, "1 region\n");
  run = Run("status");
  ASSERT_TRUE(run.outcome);
  EXPECT_NE(run.output.find("web"), std::string::npos);
  EXPECT_NE(Run("status --json").output.find("\"quiesced\": 1"), std::string::npos);
  EXPECT_EQ(Run("resume web").output, "1 region\n");
}

TEST_F(BrokerCommandTest, ErrorsNameTheGuestRegionOptionOrSocket) {
  const auto error = [](const CommandRun& run) {
    return run.outcome ? std::string() : run.outcome.error().text;
  };
  EXPECT_EQ(error(Run("quiesce absentee")), "there is no guest absentee");
  EXPECT_EQ(error(Run("quiesce absentee x")), "'x' is no L_Key of a region");
  EXPECT_EQ(error(Run("--budget 1G")), "another broker listens at " + socket_);
  const CommandRun none =
      RunCommand(AddBrokerCommand, "broker status --socket " + folder_ + "/none");
  EXPECT_NE(error(none).find("no broker answers at " + folder_ + "/none"), std::string::npos);
}

TEST_F(BrokerCommandTest, RefusesWrongOptions) {
  for (const char* const words :
       {"--budget 1K", "--budget x", "--limit a", "--limit a:min=1", "--limit a:weight=0",
        "--limit a:min=2M,max=1M", "--limit a:color=3", "--allow-user no-such-user",
        "--idle-quiesce -1", "--release-time 0", "quiesce", "status --hold"}) {
    EXPECT_FALSE(Run(words).parsed) << words;
  }
  EXPECT_TRUE(Run("--limit a:min=1M,max=2M,weight=3 --limit b: --allow-user root").parsed);
}

}  // namespace
}  // namespace verbena::cli
