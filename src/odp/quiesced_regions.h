#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/interval_map.h"
#include "odp/page_job.h"
#include "verbena/numbers.h"

namespace verbena::odp {

struct PageWaiter;

// A job whose pages are quiesced, and the thread of the program that waits for it, if any.
struct ParkedJob {
  PageJob job;
  PageWaiter* waiter = nullptr;
};

// A region, or a part of one, whose memory the program has taken until it gives it back.
struct QuiescedRegion {
  Interval pages;         // in the tables' addresses; these pages are not paged in for the adapter
  bool is_whole = false;  // every access to the region stops, wherever its bytes are
  bool refuses = false;   // accesses are refused instead of waiting
  bool is_awaited = false;
  std::vector<ParkedJob> parked = {};  // in order of arrival
};

// The quiesced regions. Another region on the same bytes waits for them, too.
//
// Part of ManagedPages, under the engine's lock.
class QuiescedRegions {
 public:
  [[nodiscard]] bool empty() const { return regions_.empty(); }

  // REQUIRES: the region is not quiesced.
  void Add(Key key, QuiescedRegion region) { regions_.emplace(key, std::move(region)); }
  // Returns the jobs that waited for the region and may continue.
  [[nodiscard]] std::vector<ParkedJob> Remove(Key key) {
    auto region = regions_.extract(key);
    return region ? std::move(region.mapped().parked) : std::vector<ParkedJob>();
  }

  struct Found {
    Key key;
    QuiescedRegion* region = nullptr;  // nullptr: the job may go on
  };
  // Finds the quiesced region that holds the first page of the job.
  [[nodiscard]] Found Find(const PageJob& job) {
    for (auto& [key, region] : regions_) {
      const bool is_own = region.is_whole && key == job.request.fault.region;
      if (is_own || region.pages.Contains(job.address)) return {key, &region};
    }
    return {};
  }

  // How many of `length` bytes from `address` on precede the first quiesced page.
  [[nodiscard]] uint64_t LengthFree(uint64_t address, uint64_t length) const {
    for (const auto& [key, region] : regions_) {
      if (region.pages.Contains(address)) return 0;
      if (region.pages.first > address) length = std::min(length, region.pages.first - address);
    }
    return length;
  }

  [[nodiscard]] const QuiescedRegion* Find(Key key) const {
    const auto found = regions_.find(key);
    return found == regions_.end() ? nullptr : &found->second;
  }

  // Calls fn(job) for each waiting job, and removes them.
  template <class Fn>
  void TakeAllParked(Fn fn) {
    for (auto& [key, region] : regions_) {
      for (const ParkedJob& parked : std::exchange(region.parked, {})) fn(parked);
    }
  }

 private:
  std::unordered_map<Key, QuiescedRegion> regions_;
};

}  // namespace verbena::odp
