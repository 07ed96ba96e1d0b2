#pragma once

#include <cstdint>

namespace verbena {

// Bytes of a region, by their offset from its first byte.
struct Range {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// The purpose for which pages are paged in.
enum class Advice : uint8_t {
  kPrefetch,         // for reading
  kPrefetchWrite,    // for writing
  kPrefetchNoFault,  // pages in nothing: enters pages that are present into the tables
};

}  // namespace verbena
