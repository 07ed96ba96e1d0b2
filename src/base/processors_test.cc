#include "base/processors.h"

#include <thread>

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(ProcessorsTest, CountsTheProcessorsOfTheThreadsAffinity) {
  const int before = AllowedProcessors();
  EXPECT_GE(before, 1);
  std::thread([] {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    CPU_ZERO(&allowed);
    CPU_SET(first, &allowed);
    ASSERT_EQ(sched_setaffinity(0, sizeof allowed, &allowed), 0);
    EXPECT_EQ(AllowedProcessors(), 1);
  }).join();
  EXPECT_EQ(AllowedProcessors(), before);
}

}  // namespace
}  // namespace verbena
