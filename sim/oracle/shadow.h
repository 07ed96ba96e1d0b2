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

// The oracle of access and of bytes: what a piece of memory must hold. Every byte is known, except
// those that an outstanding operation may write: they hold the old or the new value. So a byte that
// changes without permission is found wherever it is, and whatever wrote it.
//
// Refers to the memory, does not own it.
class Shadow {
 public:
  explicit Shadow(std::span<std::byte> memory)
      : memory_(memory), expected_(memory.begin(), memory.end()) {}

  // The owner writes its own memory.
  void Store(uint64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    std::memcpy(memory_.data() + offset, bytes.data(), bytes.size());
    std::memcpy(expected_.data() + offset, bytes.data(), bytes.size());
  }

  // From here on, the operation may write `bytes` at `offset`; any bytes of that length if `any`.
  void Allow(uint64_t id, uint64_t offset, std::vector<std::byte> bytes, bool any = false) {
    pending_.emplace(id, Pending{offset, std::move(bytes), !is_closed_, any || is_loose_});
  }
  // Where any bytes are allowed, expects those that are there from here on.
  void Settle() {
    for (const auto& [id, pending] : pending_) {
      if (pending.is_active && pending.any) TakeOver(pending);
    }
  }
  // The operation may no longer write; AllowAgain reverts this. What it has written stays.
  void Forbid(uint64_t id) {
    if (Pending* const pending = Find(id)) {
      if (pending->is_active) TakeOver(*pending);
      pending->is_active = false;
    }
  }
  // The operation may not write until Resume, if it may at present.
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
  // No operation may ever write the memory again.
  void Close() {
    for (auto& [id, pending] : pending_) {
      if (pending.is_active) TakeOver(pending);
      pending.is_active = false;
    }
    is_closed_ = true;
  }
  // Any bytes are allowed for all operations, those to come included. Cannot be reverted.
  void Loosen() {
    for (auto& [id, pending] : pending_) pending.any = true;
    is_loose_ = true;
  }
  // Any bytes are allowed for one operation.
  void Loosen(uint64_t id) {
    if (Pending* const pending = Find(id)) pending->any = true;
  }
  void AllowAgain(uint64_t id) {
    if (Pending* const pending = Find(id)) pending->is_active = !is_closed_;
  }
  // The operation has ended. If it ended well, all its bytes must be there.
  void Finish(uint64_t id, bool well, const char* what, Findings& findings) {
    Pending* const pending = Find(id);
    if (pending == nullptr) return;
    if (well && !pending->any &&
        !Equal(memory_.data() + pending->offset, pending->bytes.data(), pending->bytes.size())) {
      findings.Add("bytes", std::string(what) +
                                " succeeded, but its bytes are not there, at offset " +
                                std::to_string(pending->offset));
    }
    // A forged acknowledgement ends an operation at its requester: the responder can still execute
    // it later, when its pages are present.
    if (is_loose_) return;
    if (pending->is_active) TakeOver(*pending);
    pending_.erase(id);
  }

  // Checks that every byte has a value that it may have.
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
  // From here on, expects what the operation has written so far. Bytes that it may not have written
  // are left for Check to find.
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
