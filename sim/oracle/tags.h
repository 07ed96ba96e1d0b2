#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/findings.h"

namespace verbena::sim {

// The oracle of tag matching, for one queue: a message takes the oldest receive that matches its
// tag; if none matches, the message is unexpected. A receive that was added while the program had
// not seen all unexpected messages is held until it has.
//
// The program knows when it changes the list, but learns of a message only when the message is
// complete; matching happened some time before. So each change makes a version of the list, and a
// message can have been matched in any version from `since` on. A receive that was passed over in
// all of them is owed: a message in flight on another connection must have taken it before.
class TagsOracle {
 public:
  using Version = uint64_t;
  [[nodiscard]] Version version() const { return version_; }

  // The program adds a receive. REQUIRES: one change between two passes.
  void Added(uint64_t id, uint64_t tag, uint64_t mask) {
    ++version_;
    list_.push_back({.id = id, .tag = tag, .mask = mask});
  }
  // The program synchronizes: it reports as seen all unexpected messages that it has completions
  // for.
  void Synchronized() {
    ++version_;
    reported_ = unexpected_;
    ReleaseHeld();
  }
  // A completion says whether the queue was in step after a change (`wants_step`: it was not).
  // `added`: the receive, if the change added one. `is_busy`: messages are in flight.
  void OnStep(bool wants_step, std::optional<uint64_t> added, bool is_busy, Findings& findings) {
    const bool fits = wants_step ? reported_ != unexpected_ || is_busy : reported_ == unexpected_;
    if (!fits) findings.Add("tags", "the count of unexpected messages is wrong");
    for (Receive& receive : list_) {
      if (!wants_step) receive.BecomeActive(version_);
      if (wants_step && receive.id == added) receive.is_held = true;
    }
  }
  // The end of a removal. If not `well`, a message has the receive.
  void Removed(uint64_t id, bool well, Findings& findings) {
    ++version_;
    const auto found = Find(id);
    const bool is_listed = found != list_.end();
    if (!well && is_listed) found->is_owed = true;
    if (!well) return;
    if (!is_listed) return findings.Add("tags", "a receive that was taken was removed");
    if (found->is_owed) findings.Add("tags", "a receive was passed over, and then removed");
    list_.erase(found);
  }

  // A message was matched, in some version from `since` on. `is_alone`: no other is in flight.
  void Matched(uint64_t id, uint64_t tag, Version since, bool is_alone, Findings& findings) {
    const auto taken = Find(id);
    if (taken == list_.end()) return findings.Add("tags", "a message took what is not listed");
    if (!taken->Matches(tag)) return findings.Add("tags", "a message took a receive of other tags");
    if (taken->is_held) return findings.Add("tags", "a message took a receive that is held");
    for (auto older = list_.begin(); older != taken; ++older) {
      PassOver(*older, tag, since, is_alone, findings);
      older->BecomeActive(version_);
    }
    list_.erase(taken);
  }
  void Unexpected(uint64_t tag, Version since, bool is_alone, Findings& findings) {
    ++unexpected_;
    for (Receive& receive : list_) PassOver(receive, tag, since, is_alone, findings);
  }
  // A message failed that had taken the receive `id`. Without an `id` it had taken none of the
  // list, so it can have been unexpected.
  void Failed(std::optional<uint64_t> id) {
    std::erase_if(list_, [&](const Receive& receive) { return receive.id == id; });
    ReleaseHeld();
  }

  // Unexpected messages that the program has completions for.
  [[nodiscard]] uint64_t unexpected() const { return unexpected_; }

  // REQUIRES: no message is in flight. `size`: the number of receives in the queue.
  void CheckEnd(size_t size, Findings& findings) const {
    const bool is_owed = std::ranges::any_of(list_, &Receive::is_owed);
    if (is_owed) findings.Add("tags", "a receive was passed over");
    if (size != list_.size()) findings.Add("tags", "the queue has other receives than it should");
  }

 private:
  struct Receive {
    uint64_t id = 0;
    uint64_t tag = 0;
    uint64_t mask = 0;
    std::optional<Version> active_since = {};  // nullopt: not known to be active
    bool is_held = false;                      // known to be held
    bool is_owed = false;

    [[nodiscard]] bool Matches(uint64_t of) const { return (of & mask) == tag; }
    void BecomeActive(Version version) {
      if (!active_since) active_since = version;
      is_held = false;
    }
  };

  [[nodiscard]] std::vector<Receive>::iterator Find(uint64_t id) {
    return std::ranges::find(list_, id, &Receive::id);
  }
  void ReleaseHeld() {
    for (Receive& receive : list_) receive.is_held = false;
  }
  static void PassOver(Receive& receive, uint64_t tag, Version since, bool is_alone,
                       Findings& findings) {
    const bool was_there = receive.active_since && *receive.active_since <= since;
    if (!was_there || !receive.Matches(tag)) return;
    if (is_alone) findings.Add("tags", "a message has passed over a receive of its tag");
    receive.is_owed = true;
  }

  std::vector<Receive> list_;  // oldest first
  Version version_ = 0;
  uint64_t unexpected_ = 0;  // with a completion
  uint64_t reported_ = 0;
};

}  // namespace verbena::sim
