#include "adapter/loop/short_slice.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

// sched_runtime of the calling thread, which is its slice on kernels that support it.
uint64_t Runtime() {
  std::array<uint64_t, 6> attributes{};
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, attributes.data(), 48U, 0), 0);
  return attributes[3];
}

TEST(ShortSliceTest, ChangesTheSliceOfTheThread) {
  std::thread([] {
    const uint64_t before = Runtime();
    AskForSlice(Microseconds(200));
    // Kernels before 6.12 always report 0.
    EXPECT_TRUE(Runtime() == 200'000 || (before == 0 && Runtime() == 0));
  }).join();
}

TEST(ShortSliceTest, KeepsThePriority) {
  std::thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 5), 0);
    AskForSlice(Microseconds(200));
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 5);
  }).join();
}

}  // namespace
}  // namespace verbena::adapter
