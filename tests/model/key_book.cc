#include "model/key_book.h"

#include <algorithm>

namespace verbena::memory::model {

void KeyBook::Complain(const char* what, Key key) {
  if (complaint_.empty()) complaint_ = std::string(what) + ": " + std::to_string(key.value());
}

void KeyBook::Take(KeyIndex index) {
  Index& it = indices_[index];
  if (it.taken) Complain("an index was taken twice", Key(index, KeyVariant()));
  if (it.rests_until.has_value()) Complain("a resting index was taken", Key(index, KeyVariant()));
  it.taken = true;
  ++taken_;
}

void KeyBook::Give(KeyIndex index) {
  Index& it = indices_[index];
  it.taken = false;
  --taken_;
  if (it.left >= 2) return;  // enough for the two keys of another region
  it.rests_until = now_ + quarantine_;
  ++resting_;
}

void KeyBook::HandOut(Key key) {
  Index& it = indices_[key.index()];
  const uint8_t variant = key.variant().value();
  if (key.value() == 0 || key.index().value() == 0) Complain("a key of index 0", key);
  // An owner that finds no index to move to reuses old variants.
  if (it.left > 0 && it.used[variant]) Complain("a variant came twice in a round", key);
  it.used.set(variant);
  it.left -= std::min(it.left, 1u);
  it.last = variant;
  history_.push_back(key);
}

void KeyBook::Choose(Key key) {
  Index& it = indices_[key.index()];
  // Variants that the owner skipped are used up as well.
  while (it.last != key.variant().value()) {
    ++it.last;
    it.used.set(it.last);
    it.left -= std::min(it.left, 1u);
  }
  history_.push_back(key);
}

void KeyBook::AdvanceTo(Time now) {
  now_ = now;
  if (resting_ == 0) return;
  for (auto& [number, it] : indices_) {
    if (!it.rests_until.has_value() || *it.rests_until > now) continue;
    it.rests_until.reset();
    it.used.reset();
    it.left = 256;
    --resting_;
  }
}

}  // namespace verbena::memory::model
