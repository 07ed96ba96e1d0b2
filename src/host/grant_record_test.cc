#include "host/grant_record.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

const std::vector<RecordedGrant> kGrants = {
    {.pid = 12, .started = 345, .bytes = 1 << 20, .limits = {65'536, UINT64_MAX, 7}, .name = "a"},
    {.pid = 13, .started = 346, .bytes = 0, .limits = {1, 2, 3}, .name = "b.c"}};

TEST(GrantRecord, ComesBack) { EXPECT_EQ(ParseGrants(ToText(kGrants)), kGrants); }

TEST(GrantRecord, LinesThatAreNoneAreLeftOut) {
  const std::string text =
      "x\n12 3 4 5 6 7 a b\n12 3 4 5 6 a\n-1 3 4 5 6 7 a\n12 3 -4 5 6 7 a\n\n" +
      ToText({kGrants[0]}) + "12 3 4 5 6 7 cut";
  EXPECT_EQ(ParseGrants(text), std::vector{kGrants[0]});
}

TEST(GrantRecord, IsAFile) {
  std::string folder = "/tmp/verbena-record-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/grants";
  EXPECT_TRUE(ReadRecord(path).empty());
  EXPECT_TRUE(WriteRecord(path, kGrants));
  EXPECT_EQ(ReadRecord(path), kGrants);
  EXPECT_TRUE(WriteRecord(path, {}));
  EXPECT_TRUE(ReadRecord(path).empty());
  EXPECT_FALSE(WriteRecord(folder + "/missing/grants", {}));
  std::filesystem::remove_all(folder);
}

TEST(GrantRecord, ProcessesHaveTheirStart) {
  const auto own = StartOf(getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(StartOf(getpid()), own);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(StartOf(child));
}

}  // namespace
}  // namespace verbena::host
