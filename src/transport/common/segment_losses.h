#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "verbena/ip_address.h"

namespace verbena::transport {

// The two ends of a path through the network, which all queue pairs and services between them
// share, and the size of the packets. Some networks lose small segments only, and segmentation of
// large packets is worth keeping there. So each measurement holds for sizes within a factor of two,
// the step between path MTUs.
struct SegmentPath {
  SegmentPath(const IpAddress& from_address, const IpAddress& to_address, size_t bytes)
      : from(from_address), to(to_address), size_class(SizeClassOf(bytes)) {}

  static constexpr uint8_t kSizeClasses = 5;
  // 0 up to 511 bytes, which is a path MTU of 256; then 1 up to 1023, ...
  [[nodiscard]] static uint8_t SizeClassOf(size_t bytes) {
    return static_cast<uint8_t>(std::min<size_t>(std::bit_width(bytes >> 9), kSizeClasses - 1));
  }

  IpAddress from;
  IpAddress to;
  uint8_t size_class;

  friend bool operator==(const SegmentPath&, const SegmentPath&) = default;
};

// The paths that lose datagrams which the system segments from one message (UDP_SEGMENT). Some
// virtual networks lose all of them, retransmissions included.
//
// The rule: a path gets single datagrams after kLossesToLearn groups of packets in a row were lost
// as a whole, arrived when they were retransmitted one by one, and no group of at least their size
// arrived in between. A path with random loss delivers most groups, so it does not reach this
// number. Segmentation is tried again after kSingleFor, which doubles each time up to
// kSingleForMax. From then on one lost group is enough, and one that arrives clears the path.
//
// Bounded: kPaths places, one per hash value; the newest path takes the place. Used by one thread
// at a time, the engine. A path without losses costs one test per packet.
class SegmentLosses {
 public:
  static constexpr size_t kPaths = 64;
  static constexpr uint8_t kLossesToLearn = 4;
  static constexpr Duration kSingleFor = Seconds(10);
  static constexpr Duration kSingleForMax = Seconds(600);
  // A path in doubt is cleared if no other group is lost within this time.
  static constexpr Duration kDoubtFor = Seconds(60);

  // Whether arrivals must be reported, because some path is in doubt.
  [[nodiscard]] bool in_doubt() const { return known_ > 0; }

  // Some path gets single datagrams.
  [[nodiscard]] bool has_singles() const { return singles_ > 0; }
  [[nodiscard]] bool SendsSingly(const SegmentPath& path) const {
    const std::optional<Entry>& entry = entries_[IndexOf(path)];
    return entry && entry->is_single && entry->path == path;
  }

  // A group of packets was lost and arrived in single datagrams. True if the path gets single
  // datagrams from now on, and did not before for any size.
  [[nodiscard]] bool OnLost(const SegmentPath& path, uint32_t packets, Time now);
  // A group arrived as it was sent.
  void OnArrived(const SegmentPath& path, uint32_t packets);

  // Ends the periods that are over.
  void OnTime(Time now) {
    if (now >= next_time_) [[unlikely]] {
      Expire(now);
    }
  }
  // The addresses of the machine have changed: the results may be those of another network.
  void Clear();

  [[nodiscard]] bool IsConsistent() const;

 private:
  struct Entry {
    SegmentPath path;
    uint32_t packets = 0;  // in the smallest group that was lost
    uint8_t losses = 0;    // in a row
    bool is_single = false;
    Duration single_for = kSingleFor;  // the next period
    Time until = {};                   // the end of the period of single datagrams or of doubt
  };

  static size_t IndexOf(const SegmentPath& path);
  [[nodiscard]] bool WasLearned(SegmentPath path) const;
  void Expire(Time now);
  void Erase(std::optional<Entry>& entry);

  std::array<std::optional<Entry>, kPaths> entries_;
  size_t known_ = 0;
  size_t singles_ = 0;  // entries that get single datagrams
  Time next_time_ = Time::Never();
};

}  // namespace verbena::transport
