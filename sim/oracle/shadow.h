#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/findings.h"

namespace verbena::sim {

// The oracle of access and of bytes: what a piece of memory must hold. Every byte is known, but for
// those that an operation under way may change, which hold what was there or what is to come. So a
// byte that changes without a right to do so is found wherever it is, and whatever wrote it.
//
// Refers to the memory, does not own it.
class Shadow {
 public:
  explicit Shadow(std::span<std::byte> memory)
      : memory_(memory), expected_(memory.begin(), memory.end()) {}

  // The owner itself changes its memory.
  void Store(uint64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    std::memcpy(memory_.data() + offset, bytes.data(), bytes.size());
    std::memcpy(expected_.data() + offset, bytes.data(), bytes.size());
  }

  // An operation may put `bytes` there, from now on. Anything may come when `any`.
  void Allow(uint64_t id, uint64_t offset, std::vector<std::byte> bytes, bool any = false) {
    pending_.emplace(id, Pending{offset, std::move(bytes), !is_closed_, any || is_loose_});
  }
  // What was put where anything may come is how it is from now on.
  void Settle() {
    for (const auto& [id, pending] : pending_) {
      if (pending.is_active && pending.any) TakeOver(pending);
    }
  }
  // It may no longer, for now or for ever: what is there stays.
  void Forbid(uint64_t id) {
    if (Pending* const pending = Find(id)) {
      if (pending->is_active) TakeOver(*pending);
      pending->is_active = false;
    }
  }
  // It may not until Resume, if it may now.
  void Suspend(uint64_t id) {
    Pending* const pending = Find(id);
    if (pending == nullptr || !pending->is_active) return;
    Forbid(id);
    pending->is_suspended = true;
  }
  void Resume() {
    for (auto& [id, pending] : pending_) {
      if (std::exchange(pending.is_suspended, false)) pending.is_active = !is_closed_;
    }
  }
  // Nor may any other, ever: no operation may write the memory any more.
  void Close() {
    for (auto& [id, pending] : pending_) {
      if (pending.is_active) TakeOver(pending);
      pending.is_active = false;
    }
    is_closed_ = true;
  }
  // Whatever may be changed may get any bytes from now on, and stays so.
  void Loosen() {
    for (auto& [id, pending] : pending_) pending.any = true;
    is_loose_ = true;
  }
  // The same for one operation.
  void Loosen(uint64_t id) {
    if (Pending* const pending = Find(id)) pending->any = true;
  }
  void AllowAgain(uint64_t id) {
    if (Pending* const pending = Find(id)) pending->is_active = !is_closed_;
  }
  // It has ended, well or not. Well: all its bytes are there.
  void Finish(uint64_t id, bool well, const char* what, Findings& findings) {
    Pending* const pending = Find(id);
    if (pending == nullptr) return;
    if (well && !pending->any &&
        !Equal(memory_.data() + pending->offset, pending->bytes.data(), pending->bytes.size())) {
      findings.Add("bytes", std::string(what) +
                                " succeeded, but its bytes are not there, at offset " +
                                std::to_string(pending->offset));
    }
    // A forged acknowledgement ends an operation at its requester: the responder may execute it
    // later, when its pages are there.
    if (is_loose_) return;
    if (pending->is_active) TakeOver(*pending);
    pending_.erase(id);
  }

  // Every byte is as it may be.
  void Check(Findings& findings) const {
    if (Equal(memory_.data(), expected_.data(), memory_.size())) return;
    for (size_t i = 0; i < memory_.size(); ++i) {
      if (memory_[i] == expected_[i] || IsAllowed(i)) continue;
      findings.Add("access", "a byte has changed that nothing may change, at offset " +
                                 std::to_string(i) + " of " + std::to_string(memory_.size()));
      return;
    }
  }

  [[nodiscard]] std::span<const std::byte> Expected(uint64_t offset, uint64_t length) const {
    return std::span(expected_).subspan(offset, length);
  }

 private:
  struct Pending {
    uint64_t offset;
    std::vector<std::byte> bytes;
    bool is_active;
    bool any;
    bool is_suspended = false;
  };

  static bool Equal(const std::byte* a, const std::byte* b, size_t size) {
    return size == 0 || std::memcmp(a, b, size) == 0;
  }
  Pending* Find(uint64_t id) {
    const auto found = pending_.find(id);
    return found == pending_.end() ? nullptr : &found->second;
  }
  bool IsAllowed(size_t at) const {
    for (const auto& [id, pending] : pending_) {
      if (!pending.is_active || at < pending.offset) continue;
      const uint64_t i = at - pending.offset;
      if (i < pending.bytes.size() && (pending.any || memory_[at] == pending.bytes[i])) return true;
    }
    return false;
  }
  // What the operation has done so far is how it is from now on. What it may not have done is left
  // for Check to find.
  void TakeOver(const Pending& pending) {
    if (pending.any && !pending.bytes.empty()) {
      std::memcpy(&expected_[pending.offset], &memory_[pending.offset], pending.bytes.size());
      return;
    }
    for (size_t i = 0; i < pending.bytes.size(); ++i) {
      const std::byte now = memory_[pending.offset + i];
      if (now == pending.bytes[i]) expected_[pending.offset + i] = now;
    }
  }

  std::span<std::byte> memory_;
  std::vector<std::byte> expected_;
  std::map<uint64_t, Pending> pending_;
  bool is_closed_ = false;
  bool is_loose_ = false;
};

}  // namespace verbena::sim
