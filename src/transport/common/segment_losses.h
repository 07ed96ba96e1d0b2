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
// share, and how large packets are. Some networks lose small segments only, and there large ones
// are worth having; so what is learned is good for a factor of two, which is the step between path
// MTUs.
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

// The paths on which datagrams are lost that the system is to cut from one message (UDP_SEGMENT).
// Some virtual networks lose them, and every retransmission that leaves in the same way.
//
// The rule. A path is sent single datagrams after kLossesToLearn groups of packets in a row were
// lost as a whole and arrived when they were sent again one by one, with no group of at least their
// size arriving in between. A path that loses packets by chance delivers most groups, so it does
// not get there. Segments are tried again after kSingleFor, which doubles each time up to
// kSingleForMax: then one lost group is enough, and one that arrives clears the path.
//
// Bounded: kPaths places, one per hash, and the newest path has it. One thread at a time: the
// engine. A path that is not in doubt costs one test per packet.
class SegmentLosses {
 public:
  static constexpr size_t kPaths = 64;
  static constexpr uint8_t kLossesToLearn = 4;
  static constexpr Duration kSingleFor = Seconds(10);
  static constexpr Duration kSingleForMax = Seconds(600);
  // A path in doubt is cleared if no other group is lost within this time.
  static constexpr Duration kDoubtFor = Seconds(60);

  // Whether arrivals are worth reporting: some path is in doubt.
  [[nodiscard]] bool in_doubt() const { return known_ > 0; }

  // Some path is sent single datagrams.
  [[nodiscard]] bool has_singles() const { return singles_ > 0; }
  [[nodiscard]] bool SendsSingly(const SegmentPath& path) const {
    const std::optional<Entry>& entry = entries_[IndexOf(path)];
    return entry && entry->is_single && entry->path == path;
  }

  // A group of packets was lost and arrived in single datagrams. True if the path is sent those
  // from now on, for the first time and the first size.
  [[nodiscard]] bool OnLost(const SegmentPath& path, uint32_t packets, Time now);
  // A group arrived as it was sent.
  void OnArrived(const SegmentPath& path, uint32_t packets);

  // Times that are over end.
  void OnTime(Time now) {
    if (now >= next_time_) [[unlikely]] {
      Expire(now);
    }
  }
  // The machine's addresses have changed: what was learned may be of another network.
  void Clear();

  [[nodiscard]] bool IsConsistent() const;

 private:
  struct Entry {
    SegmentPath path;
    uint32_t packets = 0;  // of the smallest group that was lost
    uint8_t losses = 0;    // in a row
    bool is_single = false;
    Duration single_for = kSingleFor;  // next time
    Time until = {};                   // single, or in doubt
  };

  static size_t IndexOf(const SegmentPath& path);
  [[nodiscard]] bool WasLearned(SegmentPath path) const;
  void Expire(Time now);
  void Erase(std::optional<Entry>& entry);

  std::array<std::optional<Entry>, kPaths> entries_;
  size_t known_ = 0;
  size_t singles_ = 0;  // of them
  Time next_time_ = Time::Never();
};

}  // namespace verbena::transport
