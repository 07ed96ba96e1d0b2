#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace verbena::managed {

// How many granules a fault should bring, so that a thread that walks through memory does not fault
// at each: 1, and twice as many each time that a fault comes just behind what the one before
// brought. Several threads may walk at once.
//
// A value type; its owner guards it.
class FaultStreams {
 public:
  static constexpr uint32_t kWindowMax = 16;

  // A fault at `granule` that does not come behind another is a new stream, in the place of the one
  // that was quiet for longest.
  [[nodiscard]] uint32_t WindowAt(uint32_t granule) {
    Stream* stream = std::find_if(streams_.begin(), streams_.end(), [granule](const Stream& it) {
      return it.window > 0 && it.next == granule;
    });
    if (stream == streams_.end()) {
      stream = std::min_element(
          streams_.begin(), streams_.end(),
          [](const Stream& a, const Stream& b) { return a.last_used < b.last_used; });
      stream->window = 0;
    }
    stream->window = std::clamp<uint32_t>(2 * stream->window, 1, kWindowMax);
    stream->last_used = ++clock_;
    stream->next = granule + stream->window;
    return stream->window;
  }

  // Of what WindowAt said only `count`, from `granule` on, were paged in.
  void Cut(uint32_t granule, uint32_t window, uint32_t count) {
    for (Stream& stream : streams_) {
      if (stream.next == granule + window && stream.window == window) stream.next = granule + count;
    }
  }

 private:
  struct Stream {
    uint32_t next = 0;    // where the next fault of this stream is expected
    uint32_t window = 0;  // 0: no stream
    uint64_t last_used = 0;
  };

  std::array<Stream, 8> streams_{};
  uint64_t clock_ = 0;  // faults so far
};

}  // namespace verbena::managed
