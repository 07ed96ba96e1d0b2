#pragma once

#include <variant>

#include "memory/translation.h"
#include "transport/rc/placement.h"
#include "transport/turn.h"

namespace verbena::transport {

// Who can tell at once whether pages that the tables do not know are in memory all the same, as
// those of a program that has used them are. A message of an unreliable service is lost if they
// are not, so for it the question is worth a system call; a reliable one is only late.
//
// Owned by whoever makes turns, and called within them.
class ResidentPages {
 public:
  ResidentPages() = default;
  ResidentPages(const ResidentPages&) = delete;
  ResidentPages& operator=(const ResidentPages&) = delete;
  virtual ~ResidentPages() = default;

  // Enters those of the fault's pages that are there in the tables, from the first one on. False if
  // that one is not.
  [[nodiscard]] virtual bool Map(const memory::Fault& fault) = 0;
};

// Calls place(), which returns a Placement, and again as long as what it misses is in memory.
template <class Place>
[[nodiscard]] Placement PlaceOnResidentPages(const Turn& turn, Place place) {
  // Each time there is at least a page more; a packet has not so many.
  constexpr int kTimesMax = 64;
  Placement placed = place();
  for (int i = 0; i < kTimesMax; ++i) {
    const auto* const fault = std::get_if<memory::Fault>(&placed);
    // A page may be in memory and still not be for us: then it is lost each time.
    if (fault == nullptr || fault->is_loss || turn.resident == nullptr) break;
    if (!turn.resident->Map(*fault)) break;
    placed = place();
  }
  return placed;
}

}  // namespace verbena::transport
