#pragma once

#include <cstdint>
#include <optional>

#include "base/file_descriptor.h"

namespace verbena::odp {

// The mappings of this process, as the system has them: what a driver that pins finds out by
// pinning. The cost grows with the mappings that are looked at, not with their pages, and no page
// is touched.
//
//   kQuery  PROCMAP_QUERY of Linux 6.11 and later: one call a mapping of the range
//   kText   /proc/self/maps: every mapping up to the end of the range is read
//   kHoles  without /proc: msync, which tells unmapped bytes, and not what may be done to mapped
//           ones
//
// Thread rule: any thread.
class Mappings {
 public:
  enum class Method : uint8_t { kQuery, kText, kHoles };

  // The best that this system has, down from `best`.
  explicit Mappings(Method best = Method::kQuery);

  [[nodiscard]] Method method() const { return method_; }

  // The first page of the range that an access would not find.
  struct Lack {
    uint64_t address = 0;
    bool is_mapped = false;  // but not for this access

    friend bool operator==(const Lack&, const Lack&) = default;
  };
  // What is missing for an access to each byte of [address, address + length). The range must not
  // wrap around.
  [[nodiscard]] std::optional<Lack> Check(uint64_t address, uint64_t length, bool for_write) const;

 private:
  Method method_;
  FileDescriptor maps_;  // kQuery
};

}  // namespace verbena::odp
