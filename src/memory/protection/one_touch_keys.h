#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "memory/access.h"
#include "memory/protection/one_touch.h"
#include "memory/protection/protection_table.h"
#include "memory/refusal.h"

namespace verbena::memory {

// Applies the decision table of one_touch.h to the entries, and ends those whose last segment came
// early once their stream has caught up.
//
// One thread at a time.
class OneTouchKeys {
 public:
  explicit OneTouchKeys(ProtectionTable& table) : table_(table) {}

  // A segment that Translate has just granted access through `key` is about to be placed. The
  // answer says whether to place it; what it means for the key has been done.
  Result<TouchAction, Refusal> Touch(Key key, const StreamSegment& segment,
                                     const StreamPosition& stream, const Accessor& who);

  // The stream of `qp` has delivered everything before `next_expected`.
  void StreamAdvanced(QpNumber qp, StreamNumber next_expected);

  // The stream is no more. Keys that it touched stay touched: a new use ends them.
  void StreamEnded(QpNumber qp) { remembered_.erase(qp); }

  // The message that spends the key may have to be repeated by a transport that numbers its
  // packets: until it is released, the key is good for that and for nothing else. REQUIRES, for
  // Hold: Translate has just granted access through it.
  void Hold(Key key);
  void Release(Key key);

  uint64_t remembered_count() const;

 private:
  void EndIfTouched(Key key);

  struct Remembered {
    Key key;
    StreamNumber last_byte;
  };

  ProtectionTable& table_;
  std::unordered_map<QpNumber, std::vector<Remembered>> remembered_;
};

}  // namespace verbena::memory
