#include "cache/eviction.h"

#include "base/check.h"

namespace verbena::cache {

namespace {

uint64_t PlaceOf(Interval bytes) {
  const uint64_t mixed = (bytes.first ^ bytes.last << 20) * 0x9E3779B97F4A7C15;
  return mixed ^ mixed >> 32;
}

}  // namespace

void RegistrationEviction::Insert(EntryNumber number, Interval bytes) {
  CHECK(links_[number].queue == nullptr);
  const uint64_t place = PlaceOf(bytes);
  links_[number].place = place;
  uint64_t& remembered = remembered_[place % remembered_.size()];
  const bool comes_back = remembered == place && place != 0;
  if (comes_back) remembered = 0;
  Append(comes_back ? main_ : probation_, number);
}

void RegistrationEviction::Remove(EntryNumber number) {
  if (Queue* const queue = links_[number].queue; queue != nullptr) Unlink(*queue, number);
}

void RegistrationEviction::Append(Queue& queue, EntryNumber number) {
  Link& link = links_[number];
  link.before = queue.last;
  link.after = 0;
  link.queue = &queue;
  (queue.last != 0 ? links_[queue.last - 1].after : queue.first) = number + 1;
  queue.last = number + 1;
  ++queue.size;
}

void RegistrationEviction::Unlink(Queue& queue, EntryNumber number) {
  Link& link = links_[number];
  CHECK(link.queue == &queue);
  (link.before != 0 ? links_[link.before - 1].after : queue.first) = link.after;
  (link.after != 0 ? links_[link.after - 1].before : queue.last) = link.before;
  link.queue = nullptr;
  --queue.size;
}

}  // namespace verbena::cache
