#include "odp/page_answers.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbena::odp {
namespace {

PageJob Job(uint64_t ticket) {
  PageJob job;
  job.request.ticket = transport::FaultTicket(ticket);
  return job;
}

TEST(PageAnswersTest, HandsOutAsManyAsThereIsRoomFor) {
  int reported = 0;
  PageAnswers answers([&] { ++reported; });
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(answers.Expect());
    answers.Finish(Job(i));
  }
  EXPECT_EQ(reported, 3);
  std::vector<PageJob> done;
  done.reserve(2);
  const PageJob* const place = done.data();
  answers.TakeDone(done);
  ASSERT_EQ(done.size(), done.capacity());
  EXPECT_EQ(done.data(), place) << "it has not grown";
  EXPECT_EQ(done[0].request.ticket.value(), 0U) << "the oldest first";
  EXPECT_TRUE(answers.has_done());
  done.clear();
  answers.TakeDone(done);
  EXPECT_EQ(done.size(), 1U);
  EXPECT_FALSE(answers.has_done());
}

TEST(PageAnswersTest, AnUnexpectedJobIsNotAnswered) {
  PageAnswers answers([] {});
  ASSERT_TRUE(answers.Expect());
  EXPECT_TRUE(answers.IsConsistent());
  answers.Unexpect();
  EXPECT_TRUE(answers.IsConsistent());
  EXPECT_FALSE(answers.has_done());
}

}  // namespace
}  // namespace verbena::odp
