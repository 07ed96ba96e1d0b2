#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/findings.h"

namespace verbena::sim {

// The oracle of tag matching, for one queue: a message takes the oldest receive that matches its
// tag, or none does and it is unexpected; what was added out of step with the unexpected messages
// is held until the two are in step.
//
// The program knows when it changes the list, and hears of a message when all of it is there; the
// message was matched at some moment before. So each change makes a version of the list, and a
// message may have been matched in any from `since` on. A receive that was passed over in all of
// them is owed: a message that another connection has begun must have taken it before.
class TagsOracle {
 public:
  using Version = uint64_t;
  [[nodiscard]] Version version() const { return version_; }

  // By the program, one change between two passes.
  void Added(uint64_t id, uint64_t tag, uint64_t mask) {
    ++version_;
    list_.push_back({.id = id, .tag = tag, .mask = mask});
  }
  // It tells that it has seen all unexpected messages that it has heard of.
  void Synchronized() {
    ++version_;
    told_ = unexpected_;
    ReleaseHeld();
  }
  // A completion tells whether the queue was in step after a change; `added` as the change was to
  // add one. `is_busy`: messages are under way.
  void OnStep(bool wants_step, std::optional<uint64_t> added, bool is_busy, Findings& findings) {
    const bool fits = wants_step ? told_ != unexpected_ || is_busy : told_ == unexpected_;
    if (!fits) findings.Add("tags", "the count of unexpected messages is wrong");
    for (Receive& receive : list_) {
      if (!wants_step) receive.BecomeActive(version_);
      if (wants_step && receive.id == added) receive.is_held = true;
    }
  }
  // To take one back has succeeded, or a message has it.
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

  // A message was matched, in some version from `since` on. `is_alone`: no other is under way.
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
  // A message failed that had taken this one, or none of these: then it may have been unexpected.
  void Failed(std::optional<uint64_t> id) {
    std::erase_if(list_, [&](const Receive& receive) { return receive.id == id; });
    ReleaseHeld();
  }

  // Messages that the program has heard of.
  [[nodiscard]] uint64_t unexpected() const { return unexpected_; }

  // No message is under way.
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
    std::optional<Version> active_since = {};  // as far as is known
    bool is_held = false;                      // it surely is
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
  uint64_t unexpected_ = 0;  // that the program has heard of
  uint64_t told_ = 0;
};

}  // namespace verbena::sim
