#pragma once

#include <cstdint>

namespace verbena::paging {

// How a read or write of the store ended.
enum class ReadOutcome : uint8_t {
  kGood,
  kFailed,   // can succeed when retried
  kCorrupt,  // the contents are not those that were stored
};

enum class WriteOutcome : uint8_t {
  kGood,
  kFailed,
  kFull,
};

}  // namespace verbena::paging
