#include "model/key_checker.h"

#include <algorithm>

namespace verbena::memory::model {

void KeyChecker::Fail(const char* what, Key key) {
  if (error_.empty()) error_ = std::string(what) + ": " + std::to_string(key.value());
}

void KeyChecker::Take(KeyIndex index) {
  Index& it = indices_[index];
  if (it.taken) Fail("an index is taken twice", Key(index, KeyVariant()));
  if (it.quarantined_until.has_value())
    Fail("a quarantined index is taken", Key(index, KeyVariant()));
  it.taken = true;
  ++taken_;
}

void KeyChecker::Give(KeyIndex index) {
  Index& it = indices_[index];
  it.taken = false;
  --taken_;
  if (it.left >= 2) return;  // enough for the two keys of another region
  it.quarantined_until = now_ + quarantine_;
  ++quarantined_;
}

void KeyChecker::HandOut(Key key) {
  Index& it = indices_[key.index()];
  const uint8_t variant = key.variant().value();
  if (key.value() == 0 || key.index().value() == 0) Fail("a key of index 0", key);
  // If there is no index to move to, old variants are reused.
  if (it.left > 0 && it.used[variant]) Fail("a variant is issued twice in a round", key);
  it.used.set(variant);
  it.left -= std::min(it.left, 1u);
  it.last = variant;
  history_.push_back(key);
}

void KeyChecker::Choose(Key key) {
  Index& it = indices_[key.index()];
  // Variants that the owner skips are spent, too.
  while (it.last != key.variant().value()) {
    ++it.last;
    it.used.set(it.last);
    it.left -= std::min(it.left, 1u);
  }
  history_.push_back(key);
}

void KeyChecker::AdvanceTo(Time now) {
  now_ = now;
  if (quarantined_ == 0) return;
  for (auto& [number, it] : indices_) {
    if (!it.quarantined_until.has_value() || *it.quarantined_until > now) continue;
    it.quarantined_until.reset();
    it.used.reset();
    it.left = 256;
    --quarantined_;
  }
}

}  // namespace verbena::memory::model
