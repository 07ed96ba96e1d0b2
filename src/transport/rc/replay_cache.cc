#include "transport/rc/replay_cache.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace verbena::transport {

void ReplayCache::Add(const Reply& reply) {
  CHECK(HasRoom());
  CHECK(reply.packet_count > 0);
  if (count_ == replies_.size()) {
    oldest_ = (oldest_ + 1) % replies_.size();
    --count_;
    not_pending_ -= std::min<size_t>(not_pending_, 1);
  }
  Reply& added = at(count_++);
  added = reply;
  added.Answer(0, reply.packet_count, reply.length);
}

Reply* ReplayCache::Find(Psn psn) {
  // The newest first: after a wrap an old entry may have the same PSN.
  for (size_t i = count_; i-- > 0;) {
    if (!at(i).Covers(psn)) continue;
    not_pending_ = std::min(not_pending_, i);
    return &at(i);
  }
  return nullptr;
}

size_t ReplayCache::FirstPendingIndex() const {
  while (not_pending_ < count_ && !at(not_pending_).is_pending()) ++not_pending_;
  return not_pending_;
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
  if (not_pending_ > count_) return false;
  for (size_t i = 0; i < count_; ++i) {
    const Reply& reply = at(i);
    if (i < not_pending_ && reply.is_pending()) return false;
    if (reply.begin > reply.next || reply.next > reply.end) return false;
    if (reply.end > reply.packet_count || reply.stop > reply.length) return false;
    if (reply.kind != Reply::Kind::kRead && reply.packet_count != 1) return false;
  }
  return true;
}

}  // namespace verbena::transport
