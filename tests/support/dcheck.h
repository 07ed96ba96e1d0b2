#pragma once

#include <gtest/gtest.h>

#include "base/check.h"

// Expects a DCHECK to fail, where DCHECKs are on: in the sanitizer builds. In other builds the
// statement is not run, because its behavior is undefined.
#if VERBENA_DCHECK
#define EXPECT_DCHECK_DEATH(statement) EXPECT_DEATH(statement, "CHECK failed")
#else
#define EXPECT_DCHECK_DEATH(statement) static_cast<void>(0)
#endif
