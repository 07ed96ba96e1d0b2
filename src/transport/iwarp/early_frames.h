#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "wire/iwarp/types.h"

namespace verbena::transport {

// The frames whose payload was placed before the stream delivered them. Frames beyond the limit are
// placed when they are delivered. Owned by a queue pair.
class EarlyFrames {
 public:
  static constexpr size_t kMax = 256;

  [[nodiscard]] bool Has(wire::StreamOffset start) const {
    return std::ranges::any_of(frames_, [&](const Frame& frame) { return frame.start == start; });
  }
  [[nodiscard]] bool is_full() const { return frames_.size() >= kMax; }
  // Allocates once, when the first frame arrives early.
  void Reserve() { frames_.reserve(kMax); }
  // REQUIRES: !is_full(), and Reserve was called.
  void Add(wire::StreamOffset start, wire::StreamOffset end) { frames_.push_back({start, end}); }

  // The stream delivers this frame: true if its payload is placed already. Forgets all frames that
  // begin before its end.
  bool Take(wire::StreamOffset start, wire::StreamOffset end) {
    if (frames_.empty()) return false;
    const Frame taken{start, end};
    const bool has = std::ranges::find(frames_, taken) != frames_.end();
    std::erase_if(frames_, [&](const Frame& frame) { return frame.start < end; });
    return has;
  }
  [[nodiscard]] size_t size() const { return frames_.size(); }

 private:
  struct Frame {
    wire::StreamOffset start;
    wire::StreamOffset end;

    friend bool operator==(const Frame&, const Frame&) = default;
  };

  std::vector<Frame> frames_;
};

}  // namespace verbena::transport
