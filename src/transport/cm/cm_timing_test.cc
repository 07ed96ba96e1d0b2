#include "transport/cm/cm_timing.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

const CmOptions kOptions{.packet_life = Milliseconds(1), .patience_max = Seconds(60)};
const wire::CmReq kReq{.remote_response_timeout = wire::CmTimeout(10),
                       .local_response_timeout = wire::CmTimeout(12),
                       .max_cm_retries = 3};

TEST(CmTimingTest, TheActiveSideWaitsForTheTimeoutOfItsReq) {
  const CmTiming timing = CmTiming::OfActive(kReq, kOptions);
  EXPECT_EQ(timing.answer, Nanoseconds(4096 << 10) + Milliseconds(2));
  EXPECT_EQ(timing.patience, 4 * (Nanoseconds(4096 << 12) + Milliseconds(2)));
  EXPECT_EQ(timing.retries, 3);
}

TEST(CmTimingTest, ThePassiveSideWaitsForTheActiveOnesTimeout) {
  const CmTiming timing = CmTiming::OfPassive(kReq, kOptions);
  EXPECT_EQ(timing.answer, Nanoseconds(4096 << 12) + Milliseconds(2));
  EXPECT_EQ(timing.patience, 4 * (Nanoseconds(4096 << 10) + Milliseconds(2)));
}

TEST(CmTimingTest, TimeoutsAreBounded) {
  wire::CmReq req = kReq;
  req.remote_response_timeout = req.local_response_timeout = wire::CmTimeout(31);
  req.max_cm_retries = 15;
  EXPECT_EQ(CmTiming::OfPassive(req, kOptions).patience, Seconds(60));
  EXPECT_EQ(CmTiming::OfPassive(req, kOptions).answer * 16, Seconds(60));
}

TEST(CmTimingTest, AServiceTimeoutReplacesTheResponseTime) {
  EXPECT_EQ(CmTiming::OfActive(kReq, kOptions).AnswerAfter(wire::CmTimeout(20)),
            Nanoseconds(int64_t{4096} << 20) + Milliseconds(2));
}

}  // namespace
}  // namespace verbena::transport
