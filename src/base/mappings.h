#pragma once

#include <cstdint>
#include <optional>

#include "base/file_descriptor.h"

namespace verbena {

// Checks the mappings of this process, where a driver that pins would find out by pinning. The cost
// grows with the number of mappings that are visited, not with their pages, and no page is touched.
//
//   kQuery  PROCMAP_QUERY of Linux 6.11 and later: one call per mapping of the range
//   kText   /proc/self/maps: every mapping up to the end of the range is read
//   kHoles  without /proc: msync, which finds unmapped bytes but does not tell access rights
//
// Thread rule: any thread.
class Mappings {
 public:
  enum class Method : uint8_t { kQuery, kText, kHoles };

  // Uses the best method that this system has, from `best` down.
  explicit Mappings(Method best = Method::kQuery);

  [[nodiscard]] Method method() const { return method_; }

  // The first page of the range that an access cannot use.
  struct Lack {
    uint64_t address = 0;
    bool is_mapped = false;  // but not for this access

    friend bool operator==(const Lack&, const Lack&) = default;
  };
  // The first obstacle to an access to all of [address, address + length); nullopt if there is
  // none. REQUIRES: the range does not wrap around.
  [[nodiscard]] std::optional<Lack> Check(uint64_t address, uint64_t length, bool for_write) const;
  // Whether all of the range is mapped, and none of it shared. False if the system does not tell.
  [[nodiscard]] bool IsPrivate(uint64_t address, uint64_t length) const;

 private:
  Method method_;
  FileDescriptor maps_;  // kQuery
};

}  // namespace verbena
