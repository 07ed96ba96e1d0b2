// A program survives failed allocations: if a verb gets no memory, descriptor or thread, it fails
// as its man page says, nothing leaks, and the same call works afterwards.

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/survival/failures.h"
#include "tests/survival/rows.h"

namespace verbena::survival {
namespace {

// More than any call needs. A row that exceeds it needs more with each attempt, which is a leak.
constexpr size_t kRequestsMax = 3'000;

bool IsExpected(Resource resource, int error) {
  switch (resource) {
    case Resource::kMemory:
      // EIO is the error of failures that have no errno: see ErrnoOf.
      return error == ENOMEM || error == EIO;
    case Resource::kDescriptor:
      return error == EMFILE || error == EIO;
    case Resource::kThread:
      return error == EAGAIN || error == EIO;
  }
  return false;
}

// Waits for the expected values: the kernel removes a thread a moment after it was joined.
Held Settled(const Held& expected) {
  Held held = Held::Now();
  for (int i = 0; i < 1'000 && held != expected; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    held = Held::Now();
  }
  return held;
}

class SurvivalTest : public ::testing::TestWithParam<Row> {
 protected:
  // Suppresses warnings: each of thousands of injected failures would be logged to stderr.
  SurvivalTest() { setenv("VERBENA_LOG", "error", 1); }

  static void RunOnce(const Row& row) {
    World world;
    row.set_up(world);
    const Outcome outcome = row.call(world);
    ASSERT_TRUE(outcome.ok()) << row.name << ": " << outcome.error;
    row.tear_down(world);
  }

  // A failed call may grow a table, but not without bound. Once a table is large enough, the call
  // can succeed.
  static void FailAgain(const Row& row, World& world, Resource resource, size_t n) {
    constexpr int kAtFirst = 4, kTimes = 16;
    size_t bytes = 0;
    for (int i = 0; i < kTimes; ++i) {
      Failing failing(resource, n);
      const Outcome outcome = row.call(world);
      failing.Stop();
      if (outcome.ok()) {
        row.tear_down(world);
        return row.set_up(world);
      }
      if (i == kAtFirst) bytes = Held::Now().bytes;
    }
    if (row.takes_number || row.uses_kept_device) return;
    EXPECT_EQ(Held::Now().bytes, bytes)
        << row.name << " leaks when request " << n << " for " << NameOf(resource) << " fails";
  }

  // Fails the n-th request for the resource. False if the call needs fewer than n.
  static bool FailAt(const Row& row, Resource resource, size_t n) {
    World world;
    row.set_up(world);
    Failing failing(resource, n);
    Outcome outcome = row.call(world);
    const bool failed = failing.Stop();
    if (!failed) {
      EXPECT_TRUE(outcome.ok()) << row.name << ": " << outcome.error;
    } else if (!outcome.ok()) {
      EXPECT_TRUE(IsExpected(resource, outcome.error))
          << row.name << ", refused " << NameOf(resource) << " " << n << ": " << outcome.error;
      FailAgain(row, world, resource, n);
      outcome = row.call(world);
      EXPECT_TRUE(outcome.ok()) << row.name << " after request " << n << " for " << NameOf(resource)
                                << " failed: " << outcome.error;
    }
    if (outcome.ok()) row.tear_down(world);
    return failed;
  }
};

TEST_P(SurvivalTest, EachFailureIsReportedAndNothingLeaks) {
  const Row& row = GetParam();
  RunOnce(row);  // creates the objects that a process creates once and keeps
  for (const Resource resource : {Resource::kMemory, Resource::kDescriptor, Resource::kThread}) {
    for (size_t n = 1;; ++n) {
      ASSERT_LT(n, kRequestsMax) << NameOf(resource);
      Held before = Held::Now();
      const bool failed = FailAt(row, resource, n);
      if (row.uses_kept_device) before.bytes = Held::Now().bytes;
      // What a process makes once, when this fails for the first time, is not made again.
      if (!(Settled(before) == before)) {
        before = Held::Now();
        EXPECT_EQ(FailAt(row, resource, n), failed);
      }
      EXPECT_EQ(Settled(before), before) << row.name << ", " << NameOf(resource) << " " << n;
      if (HasFailure()) return;
      if (!failed) break;
    }
  }
}

std::string TestNameOf(const ::testing::TestParamInfo<Row>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Exports, SurvivalTest, ::testing::ValuesIn(ExportRows()), TestNameOf);
INSTANTIATE_TEST_SUITE_P(Operations, SurvivalTest, ::testing::ValuesIn(OperationRows()),
                         TestNameOf);
INSTANTIATE_TEST_SUITE_P(Caches, SurvivalTest, ::testing::ValuesIn(CacheRows()), TestNameOf);

INSTANTIATE_TEST_SUITE_P(ConnectionManager, SurvivalTest, ::testing::ValuesIn(CmRows()),
                         TestNameOf);

// The names at the start of the lines that `is_wanted` accepts.
template <class Fn>
std::set<std::string> NamesIn(const std::string& file, const std::string& end_of_name,
                              Fn is_wanted) {
  std::set<std::string> names;
  std::ifstream lines(std::string(VERBENA_IBVERBS) + "/" + file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#' && is_wanted(line)) {
      names.insert(line.substr(0, line.find(end_of_name)));
    }
  }
  return names;
}

TEST(SurvivalTableTest, HasARowForEveryExportThatMayFail) {
  const auto ours =
      NamesIn("exports.txt", " ", [](const std::string& line) { return line.ends_with(" ours"); });
  EXPECT_GT(ours.size(), 50U);
  std::set<std::string> known =
      NamesIn("cannot_fail.txt", ":", [](const std::string&) { return true; });
  for (const Row& row : ExportRows()) {
    EXPECT_TRUE(known.insert(row.name).second) << row.name << " has two rows, or cannot fail";
  }
  EXPECT_EQ(known, ours);
}

}  // namespace
}  // namespace verbena::survival
