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

// Applies the decision table of one_touch.h to the entries, and ends those whose last segment
// arrived out of order when their stream has caught up.
//
// One thread at a time.
class OneTouchKeys {
 public:
  explicit OneTouchKeys(ProtectionTable& table) : table_(table) {}

  // Called before a segment is placed, after Translate has granted its access through `key`. The
  // result tells whether to place it; the effect on the key has already happened.
  Result<TouchAction, Refusal> Touch(Key key, const StreamSegment& segment,
                                     const StreamPosition& stream, const Accessor& who);

  // Whether the key was touched by a message of the stream of `qp` that ends with or after
  // `last_byte`: a segment up to that byte may be a part of this message, and of no later one.
  [[nodiscard]] bool MayBePart(Key key, StreamNumber last_byte, QpNumber qp) const;

  // The stream of `qp` has delivered everything before `next_expected`.
  void StreamAdvanced(QpNumber qp, StreamNumber next_expected);

  // The stream has ended. Keys that it touched stay touched; their next use ends them.
  void StreamEnded(QpNumber qp) { remembered_.erase(qp); }

  // A transport with packet numbers may have to replay the message that spends the key. Between
  // Hold and Release the key is valid for that replay only. REQUIRES, for Hold: Translate has just
  // granted access through the key.
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
