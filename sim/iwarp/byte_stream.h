#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/iwarp/plan.h"
#include "transport/iwarp/send_buffer.h"
#include "wire/iwarp/types.h"

namespace verbena::sim {

// One direction of a TCP connection: takes bytes from a send buffer, cuts them into segments, and
// delivers those late, out of order, twice, or with a changed bit. The receiver gets all bytes in
// order, and sees segments ahead of a gap when they arrive. No more bytes are under way than the
// window allows. One thread.
class ByteStream {
 public:
  using Bytes = std::vector<std::byte>;
  // Gives bytes to the receiver: returns how many it has taken.
  using Receive = std::function<size_t(wire::StreamOffset at, std::span<std::byte> bytes)>;

  ByteStream(const IwarpPlan& plan, Random random, Receive receive)
      : plan_(plan), random_(random), receive_(std::move(receive)) {}

  // Takes as many bytes as the window allows.
  void Pull(transport::SendBuffer& from, Time now);
  // Delivers the segments that are due.
  void Run(Time now);
  // Gives the receiver again what it has not taken.
  void Retry();
  // From now on nothing is reordered, doubled or changed.
  void Heal() { is_healed_ = true; }
  // No byte arrives any more.
  void Cut() {
    segments_.clear();
    arrived_.clear();
    is_cut_ = true;
  }

  [[nodiscard]] Time next_time() const {
    return segments_.empty() ? Time::Never() : segments_.begin()->first;
  }
  [[nodiscard]] bool is_idle() const { return segments_.empty() && inbox_.empty(); }
  [[nodiscard]] bool was_corrupted() const { return was_corrupted_; }
  [[nodiscard]] uint64_t digest() const { return digest_; }
  [[nodiscard]] uint64_t segments() const { return segment_count_; }

 private:
  struct Segment {
    wire::StreamOffset at;
    Bytes bytes;
    bool is_stray = false;  // arrives outside of the window
  };

  bool Chance(uint32_t per_mille) { return !is_healed_ && random_.Chance(per_mille, 1000); }
  void Send(Segment segment, Time now);
  void Arrive(Segment segment);
  void ArriveBeyond(const Segment& segment);
  void Deliver();

  const IwarpPlan plan_;
  Random random_;
  Receive receive_;
  std::multimap<Time, Segment> segments_;        // under way, by their time of arrival
  std::map<wire::StreamOffset, Bytes> arrived_;  // ahead of a gap
  Bytes inbox_;                                  // in order, and not taken
  wire::StreamOffset sent_;
  wire::StreamOffset taken_;
  Time last_;  // arrival of the last segment in order
  bool is_healed_ = false;
  bool is_cut_ = false;
  bool was_corrupted_ = false;
  uint64_t digest_ = 0;
  uint64_t segment_count_ = 0;
};

}  // namespace verbena::sim
