#include "cli/kernel_features.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

TEST(KernelFeaturesTest, EachHasANameAndAMeaning) {
  std::set<std::string> names;
  for (const KernelFeature& feature : ProbeKernel()) {
    EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
    EXPECT_FALSE(feature.meaning.empty()) << feature.name;
  }
}

TEST(KernelFeaturesTest, FindsTheFeaturesOfAnySupportedKernel) {
  utsname system{};
  ASSERT_EQ(uname(&system), 0);
  if (std::atof(system.release) < 6) GTEST_SKIP() << "says nothing about Linux before 6.0";
  const auto features = ProbeKernel();
  for (const char* const name : {"UDP segmentation", "UDP receive offload", "page populate"}) {
    const auto found = std::ranges::find(features, name, &KernelFeature::name);
    ASSERT_NE(found, features.end()) << name;
    EXPECT_TRUE(found->is_found) << name;
  }
}

}  // namespace
}  // namespace verbena::cli
