#include "transport/rc/replay_cache.h"

#include <utility>

#include "base/check.h"

namespace verbena::transport {

void ReplayCache::Add(const Reply& reply) {
  CHECK(HasRoom());
  CHECK(reply.packet_count > 0);
  if (count_ == replies_.size()) {
    oldest_ = (oldest_ + 1) % replies_.size();
    --count_;
  }
  Reply& added = at(count_++);
  added = reply;
  added.Answer(0, reply.packet_count, reply.length);
}

Reply* ReplayCache::Find(Psn psn) {
  // The newest first: after a wrap an old entry may have the same PSN.
  for (size_t i = count_; i-- > 0;) {
    if (at(i).Covers(psn)) return &at(i);
  }
  return nullptr;
}

size_t ReplayCache::FirstPendingIndex() const {
  size_t i = 0;
  while (i < count_ && !at(i).is_pending()) ++i;
  return i;
}

void ReplayCache::DropPending() {
  for (size_t i = 0; i < count_; ++i) at(i).Drop();
}

bool ReplayCache::TakeOverKey(Key key, KeyAddress start) {
  if (count_ == 0) return false;
  Reply& last = at(count_ - 1);
  const bool goes_on = last.key == key && last.address.value() + last.length == start.value();
  return goes_on && std::exchange(last.holds_key, false);
}

std::optional<Key> ReplayCache::TakeHeldKey() {
  for (size_t i = 0; i < count_; ++i) {
    if (std::exchange(at(i).holds_key, false)) return at(i).key;
  }
  return std::nullopt;
}

bool ReplayCache::IsConsistent() const {
  if (count_ > replies_.size()) return false;
  for (size_t i = 0; i < count_; ++i) {
    const Reply& reply = at(i);
    if (reply.begin > reply.next || reply.next > reply.end) return false;
    if (reply.end > reply.packet_count || reply.stop > reply.length) return false;
    if (reply.kind != Reply::Kind::kRead && reply.packet_count != 1) return false;
  }
  return true;
}

}  // namespace verbena::transport
