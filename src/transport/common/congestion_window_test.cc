#include "transport/common/congestion_window.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

TEST(CongestionWindowTest, GrowsByOnePacketForEachWindowAcknowledged) {
  CongestionWindow window;
  window.OnAcknowledged(CongestionWindow::kInitial - 1);
  EXPECT_EQ(window.packets(), CongestionWindow::kInitial);
  window.OnAcknowledged(1);
  EXPECT_EQ(window.packets(), CongestionWindow::kInitial + 1);
}

TEST(CongestionWindowTest, HalvesAtALossAndStaysWithinItsBounds) {
  CongestionWindow window;
  window.OnLoss();
  EXPECT_EQ(window.packets(), CongestionWindow::kInitial / 2);
  for (int i = 0; i < 20; ++i) window.OnLoss();
  EXPECT_EQ(window.packets(), CongestionWindow::kMin);
  window.OnAcknowledged(100'000'000);
  EXPECT_EQ(window.packets(), CongestionWindow::kMax);
}

TEST(CongestionWindowTest, RestartsSmallAfterAnRnrNak) {
  CongestionWindow window;
  window.OnNotReady();
  EXPECT_EQ(window.packets(), CongestionWindow::kReopened);
  window.OnAcknowledged(CongestionWindow::kReopened);
  EXPECT_EQ(window.packets(), CongestionWindow::kReopened * 5 / 4);
  for (int i = 0; i < 6; ++i) window.OnAcknowledged(window.packets());
  EXPECT_EQ(window.packets(), CongestionWindow::kInitial);
  window.OnAcknowledged(CongestionWindow::kInitial);
  EXPECT_EQ(window.packets(), CongestionWindow::kInitial + 1) << "and goes on as ever";
}

}  // namespace
}  // namespace verbena::transport
