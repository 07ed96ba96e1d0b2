#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "memory/access.h"
#include "sim/findings.h"
#include "verbena/numbers.h"
#include "wire/roce/reth.h"
#include "wire/roce/types.h"

namespace verbena::sim {

// The oracle of read access: records which keys of an endnode grant what, independently of the
// tables, and checks every read response when it is sent. (The shadow finds writes without a
// right.)
//
// A key that a work request invalidates ends here when the program gets the completion, so
// responses that the adapter sends before that are not checked. One per endnode.
class AccessOracle {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};

  struct Grant {
    uint64_t start = 0;
    uint64_t length = 0;
    Access rights = {};
    std::optional<QpNumber> only = {};  // type 2 windows: the only queue pair
    Key region = {};                    // of a window; must exist, too
    bool is_suspended = false;
    uint64_t spent_at = kNever;  // valid for requests before
  };

  void Add(Key key, const Grant& grant) { grants_[key.value()] = grant; }
  void Remove(Key key) { grants_.erase(key.value()); }
  // A one-touch key has served a read: it is valid for repetitions of that read, because the
  // response may have been lost, and for nothing else.
  void Spend(Key key) {
    const auto found = grants_.find(key.value());
    if (found != grants_.end()) found->second.spent_at = next_read_;
  }
  [[nodiscard]] std::optional<Grant> Find(Key key) const {
    const auto found = grants_.find(key.value());
    return found == grants_.end() ? std::nullopt : std::optional(found->second);
  }
  void Suspend(Key key, bool is_suspended) {
    const auto found = grants_.find(key.value());
    if (found != grants_.end()) found->second.is_suspended = is_suspended;
  }

  // `asked`: the time of the request, for a key that may be spent.
  [[nodiscard]] bool Allows(uint32_t key, uint64_t address, uint64_t length, Access right,
                            QpNumber qp, uint64_t asked = kNever - 1) const {
    if (length == 0) return true;
    const Grant* const grant = Find(key);
    if (grant == nullptr || !grant->rights.Has(right) || asked >= grant->spent_at) return false;
    if (grant->only && *grant->only != qp) return false;
    if (grant->region != Key() && Find(grant->region.value()) == nullptr) return false;
    const uint64_t offset = address - grant->start;
    return offset < grant->length && length <= grant->length - offset;
  }

  // A read request has reached this queue pair; it takes `packets` sequence numbers.
  void Asked(QpNumber qp, Psn first, uint32_t packets, const wire::Reth& reth) {
    const Read* const original = Find(qp, first);
    const bool is_repeated = original != nullptr && original->reth.r_key == reth.r_key;
    const uint64_t asked = is_repeated ? original->asked : next_read_++;
    std::deque<Read>& reads = reads_[qp.value()];
    reads.push_front({first, packets, reth, asked});
    if (reads.size() > kReadsMax) reads.pop_back();
  }
  // The queue pair sends `size` bytes in response to a read.
  void Answers(QpNumber qp, Psn psn, uint32_t path_mtu, size_t size, Findings& findings) const {
    if (size == 0) return;
    const auto reads = reads_.find(qp.value());
    const bool is_right =
        reads != reads_.end() && std::ranges::any_of(reads->second, [&](const Read& read) {
          const uint64_t packet = (psn - read.first.value()).value();
          const uint64_t start = read.reth.address.value() + packet * path_mtu;
          return packet < read.packets &&
                 Allows(read.reth.r_key.value(), start, size, Access::kRemoteRead, qp, read.asked);
        });
    if (is_right) return;
    const Read* const read = Find(qp, psn);
    findings.Add("access", read == nullptr ? "bytes were sent that no request asked for"
                                           : "bytes were sent without a right to them, by key " +
                                                 std::to_string(read->reth.r_key.value()));
  }

 private:
  struct Read {
    Psn first;
    uint32_t packets;
    wire::Reth reth;
    uint64_t asked;  // the first time
  };
  // More than a responder keeps, with room for duplicates.
  static constexpr size_t kReadsMax = 64;

  [[nodiscard]] const Grant* Find(uint32_t key) const {
    const auto found = grants_.find(key);
    return found == grants_.end() || found->second.is_suspended ? nullptr : &found->second;
  }
  // The last request for this packet.
  [[nodiscard]] const Read* Find(QpNumber qp, Psn psn) const {
    const auto reads = reads_.find(qp.value());
    if (reads == reads_.end()) return nullptr;
    for (const Read& read : reads->second) {
      if ((psn - read.first.value()).value() < read.packets) return &read;
    }
    return nullptr;
  }

  std::map<uint32_t, Grant> grants_;
  std::map<uint32_t, std::deque<Read>> reads_;  // newest first
  uint64_t next_read_ = 1;
};

}  // namespace verbena::sim
