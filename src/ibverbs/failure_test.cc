#include "ibverbs/failure.h"

#include <new>
#include <system_error>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

TEST(FailureTest, EveryCodeHasItsNumber) {
  EXPECT_EQ(ErrnoOf(ErrorCode::kInvalid), EINVAL);
  EXPECT_EQ(ErrnoOf(ErrorCode::kLimit), ENOMEM);
  EXPECT_EQ(ErrnoOf(ErrorCode::kInUse), EBUSY);
  EXPECT_EQ(ErrnoOf(ErrorCode::kNotPermitted), EPERM);
  EXPECT_EQ(ErrnoOf(ErrorCode::kNotSupported), EOPNOTSUPP);
  EXPECT_EQ(ErrnoOf(ErrorCode::kSystem), EIO);
  EXPECT_EQ(ErrnoOf(ErrorCode::kForked), EPERM);
  EXPECT_EQ(ErrnoOf(ErrorCode::kOverflow), EOVERFLOW);
}

TEST(FailureTest, SystemErrorsKeepTheirNumber) {
  EXPECT_EQ(ErrnoOf(Error{ErrorCode::kSystem, "eventfd", EMFILE}), EMFILE);
  EXPECT_EQ(ErrnoOf(Error{ErrorCode::kSystem, "unknown"}), EIO);
  EXPECT_EQ(ErrnoOf(Error{ErrorCode::kLimit, "no port left", EADDRNOTAVAIL}), EADDRNOTAVAIL);
  errno = ENFILE;
  const Error error = SystemError("memfd_create");
  EXPECT_EQ(error.text, "memfd_create: Too many open files in system");
  EXPECT_EQ(ErrnoOf(error), ENFILE);
}

TEST(FailureTest, TheNumberIsReturnedOrSetInErrno) {
  errno = 0;
  EXPECT_EQ(Failed("ibv_x", {ErrorCode::kInUse, "words"}), EBUSY);
  errno = 0;
  EXPECT_EQ(Null("ibv_x", Invalid("words")), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(FailureTest, ALimitIsAWarningAndOtherErrorsAreDebugMessages) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Failed("ibv_x", {ErrorCode::kLimit, "too many"}), ENOMEM);
  EXPECT_EQ(Failed("ibv_x", {ErrorCode::kInvalid, "wrong"}), EINVAL);
  EXPECT_EQ(Failed("ibv_x", {ErrorCode::kSystem, "not mapped", EFAULT}), EFAULT);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "verbena: ibv_x: too many\n");
}

TEST(FailureTest, APostHasTheNumberOfItsReason) {
  EXPECT_EQ(Posted("ibv_x", {}), 0);
  EXPECT_EQ(Posted("ibv_x", tl::unexpected(PostError{PostReason::kQueueFull})), ENOMEM);
  EXPECT_EQ(Posted("ibv_x", tl::unexpected(PostError{PostReason::kTooManySges})), EINVAL);
}

TEST(FailureTest, UnsupportedCallsAreLoggedOnce) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Unsupported("ibv_never_heard_of"), EOPNOTSUPP);
  errno = 0;
  EXPECT_EQ(UnsupportedNull("ibv_never_heard_of"), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "verbena: ibv_never_heard_of: not offered\n");
}

template <class Exception>
int ThrownBy(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return Thrown("ibv_x");
  }
}

TEST(FailureTest, AnExceptionBecomesTheErrorOfTheVerb) {
  ::testing::internal::CaptureStderr();
  errno = 0;
  EXPECT_EQ(ThrownBy(std::bad_alloc()), ENOMEM);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(ThrownBy(std::system_error(EAGAIN, std::generic_category())), EAGAIN);
  try {
    throw std::bad_alloc();
  } catch (...) {
    errno = 0;
    EXPECT_EQ(ThrownNull("ibv_y"), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  EXPECT_EQ(MinusOne(EINVAL), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "verbena: ibv_x: out of memory\n"
            "verbena: ibv_x: the system starts no more threads\n"
            "verbena: ibv_y: out of memory\n");
}

TEST(FailureDeathTest, AnyOtherExceptionIsABug) { EXPECT_DEATH(ThrownBy(1), ""); }

}  // namespace
}  // namespace verbena::ibverbs
