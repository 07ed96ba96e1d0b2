#pragma once

#include <gtest/gtest.h>

#include "base/check.h"

// What a DCHECK notices, where DCHECKs are on: in the sanitizer builds. Elsewhere the statement is
// not run, because nothing says what it does then.
#if VERBENA_DCHECK
#define EXPECT_DCHECK_DEATH(statement) EXPECT_DEATH(statement, "CHECK failed")
#else
#define EXPECT_DCHECK_DEATH(statement) static_cast<void>(0)
#endif
