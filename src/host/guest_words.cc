#include "host/guest_words.h"

#include <utility>

namespace verbena::host {

ErrorOr<void> GuestWords::Open(FileDescriptor file) {
  if (page_) return Fail(Error{ErrorCode::kInvalid, "a second page of current-I/O words"});
  auto page = memory::CurrentIoPage::Open(std::move(file));
  if (!page) return Fail(page.error());
  page_ = std::move(*page);
  return {};
}

bool GuestWords::Add(RegionNumber region, uint32_t word) {
  if (!page_ || word == 0 || word > memory::CurrentIoPage::kWords) return false;
  places_[region] = word - 1;
  return true;
}

uint64_t GuestWords::operations() const {
  uint64_t sum = 0;
  ForEach([&](RegionNumber /*region*/, uint32_t count) { sum += count; });
  return sum;
}

}  // namespace verbena::host
