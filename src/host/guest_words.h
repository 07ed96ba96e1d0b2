#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "host/ids.h"
#include "memory/spaces/current_io_page.h"

namespace verbena::host {

// The current-I/O words of a guest's regions, as the broker reads them: how many operations are
// outstanding on each. The words are the guest's and may say anything; they are in a sealed file,
// so that reading them is no fault for the broker.
//
// One thread.
class GuestWords {
 public:
  // REFUSES what is no page of words, and a second one.
  [[nodiscard]] ErrorOr<void> Open(FileDescriptor file);
  // `word` is counted from 1. False if there is no such word.
  [[nodiscard]] bool Add(RegionNumber region, uint32_t word);
  void Remove(RegionNumber region) { places_.erase(region); }

  // Of all regions.
  [[nodiscard]] uint64_t operations() const;
  // Calls fn(region, operations) for each region that has a word.
  template <class Fn>
  void ForEach(Fn fn) const {
    for (const auto& [region, place] : places_) {
      fn(region, memory::CurrentIo(page_->word(place)).outstanding());
    }
  }

 private:
  std::optional<memory::CurrentIoPage> page_;
  std::map<RegionNumber, uint32_t> places_;
};

}  // namespace verbena::host
