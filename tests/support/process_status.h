#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace verbena {

// A field of /proc/self/status, in the unit of that file.
inline uint64_t ProcessStatus(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t value = 0;
    if (word == field + ":" && status >> value) return value;
  }
  ADD_FAILURE() << field;
  return 0;
}

}  // namespace verbena
