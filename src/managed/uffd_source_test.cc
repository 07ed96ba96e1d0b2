#include "managed/uffd_source.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

namespace verbena::managed {
namespace {

constexpr size_t kPage = 4096;

TEST(UffdSourceTest, MethodNamesWhetherSystemCallsAreServed) {
  const UffdSource source = UffdSource::Open();
  if (!source.file.is_open()) GTEST_SKIP() << "no userfaultfd";
  const bool says_user_mode =
      std::string(source.method).find("user mode only") != std::string::npos;
  EXPECT_NE(source.serves_system_calls, says_user_mode);
}

TEST(UffdSourceTest, ServesSystemCallsOrSaysHowToPermitIt) {
  const auto source = OpenForSystemCalls();
  EXPECT_EQ(source.has_value(), UffdSource::Open().serves_system_calls);
  if (source) return;
  EXPECT_NE(source.error().text.find("vm.unprivileged_userfaultfd=1"), std::string::npos);
}

TEST(UffdSourceTest, RefusesMemoryThatIsWatched) {
  const UffdSource one = UffdSource::Open(), other = UffdSource::Open();
  if (!one.file.is_open()) GTEST_SKIP() << "no userfaultfd";
  void* const place =
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const std::span<const std::byte> bytes(static_cast<std::byte*>(place), kPage);
  EXPECT_FALSE(Watch(one, bytes, UFFDIO_REGISTER_MODE_MISSING)) << "no API handshake was made";
  ASSERT_TRUE(AskFor(one, 0));
  ASSERT_TRUE(AskFor(other, 0));
  EXPECT_TRUE(Watch(one, bytes, UFFDIO_REGISTER_MODE_MISSING));
  EXPECT_FALSE(Watch(other, bytes, UFFDIO_REGISTER_MODE_MISSING));
  munmap(place, kPage);
}

}  // namespace
}  // namespace verbena::managed
