#pragma once

#include <cstdint>

namespace verbena::paging {

// How the store ended what it was asked to do.
enum class ReadOutcome : uint8_t {
  kGood,
  kFailed,   // may work another time
  kCorrupt,  // there are contents, and they are not those that were stored
};

enum class WriteOutcome : uint8_t {
  kGood,
  kFailed,
  kFull,
};

}  // namespace verbena::paging
