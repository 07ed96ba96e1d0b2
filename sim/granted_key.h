#pragma once

#include <cstdint>
#include <memory>

#include "memory/protection/protection_entry.h"
#include "sim/operation.h"
#include "verbena/numbers.h"

namespace verbena::sim {

// A key with which one side grants its peer temporary access to a slot of its exposed memory: a
// window, or a region of its own.
struct GrantedKey {
  enum class Kind : uint8_t {
    kWindow1,      // bound and unbound by call
    kWindow2A,     // by work request
    kWindow2B,     // likewise
    kRegion,       // registered and deregistered by call
    kQuickRegion,  // by work request
  };
  enum class State : uint8_t { kFree, kComing, kGood, kEnding };

  [[nodiscard]] bool is_window() const { return kind < Kind::kRegion; }
  [[nodiscard]] bool is_by_work_request() const {
    return kind != Kind::kWindow1 && kind != Kind::kRegion;
  }

  uint64_t id = 0;
  Kind kind = Kind::kWindow1;
  Key key;       // the last one; stale unless kGood
  Key next_key;  // while kComing
  uint32_t slot = 0;
  State state = State::kFree;
  bool was_used = false;  // of a quick region: its reserved key has been registered
  bool one_touch = false;
  bool zero_based = false;
  std::shared_ptr<Operation> user;  // operation of the peer
};

}  // namespace verbena::sim
