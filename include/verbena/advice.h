#pragma once

#include <cstdint>

namespace verbena {

// Bytes of a region, counted from its first.
struct Range {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// What pages are to be paged in for.
enum class Advice : uint8_t {
  kPrefetch,         // to be read
  kPrefetchWrite,    // to be written
  kPrefetchNoFault,  // none is paged in: the adapter learns which are there
};

}  // namespace verbena
