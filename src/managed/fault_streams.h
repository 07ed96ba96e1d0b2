#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace verbena::managed {

// Decides how many granules a fault pages in, so that a thread that walks through memory does not
// fault at each: 1, and twice as many each time a fault comes just behind the window of the one
// before. Several threads can walk at once. It also knows which walks write.
//
// A value type. One thread at a time.
class FaultStreams {
 public:
  static constexpr uint32_t kWindowMax = 64;
  // A walk with so many write faults in a row will probably write to the next granules, too.
  static constexpr uint32_t kWritesOfWriter = 4;

  struct Window {
    uint32_t granules = 1;
    bool is_of_writer = false;
  };

  // The window for a fault at `granule`. A fault that continues no stream begins a new one, in the
  // place of the stream that has been idle the longest.
  [[nodiscard]] Window WindowAt(uint32_t granule, bool is_write) {
    Stream* stream = std::find_if(streams_.begin(), streams_.end(), [granule](const Stream& it) {
      return it.window > 0 && it.next == granule;
    });
    if (stream == streams_.end()) {
      stream = std::min_element(
          streams_.begin(), streams_.end(),
          [](const Stream& a, const Stream& b) { return a.last_used < b.last_used; });
      stream->window = stream->writes = 0;
    }
    stream->writes = is_write ? std::min(stream->writes + 1, kWritesOfWriter) : 0;
    stream->window = std::clamp<uint32_t>(2 * stream->window, 1, kWindowMax);
    stream->last_used = ++clock_;
    stream->next = granule + stream->window;
    return {stream->window, stream->writes == kWritesOfWriter};
  }

  // Only `count` granules of the window that WindowAt returned were paged in, from `granule` on.
  void Cut(uint32_t granule, uint32_t window, uint32_t count) {
    for (Stream& stream : streams_) {
      if (stream.next == granule + window && stream.window == window) stream.next = granule + count;
    }
  }

 private:
  struct Stream {
    uint32_t next = 0;    // where the next fault of this stream is expected
    uint32_t window = 0;  // 0: no stream
    uint32_t writes = 0;  // in a row, kWritesOfWriter at most
    uint64_t last_used = 0;
  };

  std::array<Stream, 8> streams_{};
  uint64_t clock_ = 0;  // faults so far
};

}  // namespace verbena::managed
