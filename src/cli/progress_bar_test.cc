#include "cli/progress_bar.h"

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

TEST(ProgressBarTest, IsFilledInProportionToTheWorkDone) {
  EXPECT_EQ(ProgressBar::Line("x", 0), "x [..............................] 0 %");
  EXPECT_EQ(ProgressBar::Line("x", 0.5), "x [###############...............] 50 %");
  EXPECT_EQ(ProgressBar::Line("x", 1), "x [##############################] 100 %");
}

TEST(ProgressBarTest, ClampsFractionsOutsideZeroToOne) {
  EXPECT_EQ(ProgressBar::Line("x", -1), ProgressBar::Line("x", 0));
  EXPECT_EQ(ProgressBar::Line("x", 2), ProgressBar::Line("x", 1));
}

TEST(ProgressBarTest, WritesNothingWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    ProgressBar bar("x");
    for (int i = 0; i < 1'000; ++i) bar.Show(0.5);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace verbena::cli
