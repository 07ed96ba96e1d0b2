#pragma once

#include <string>

#include <gtest/gtest.h>

#include "verbena/registration_cache.h"

namespace verbena {

// What a handle promises holds with a cache that keeps registrations and with one that keeps none.
enum class Keeping : bool { kNothing, kRegistrations };

inline CacheOptions With(Keeping keeping, CacheOptions options = {}) {
  options.release_immediately = keeping == Keeping::kNothing;
  return options;
}

inline auto BothWays() { return ::testing::Values(Keeping::kRegistrations, Keeping::kNothing); }

inline std::string NameOfWay(const ::testing::TestParamInfo<Keeping>& info) {
  return info.param == Keeping::kNothing ? "WithoutCache" : "WithCache";
}

}  // namespace verbena
