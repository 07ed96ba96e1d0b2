#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "base/random.h"
#include "base/time.h"
#include "sim/iwarp/plan.h"
#include "sim/iwarp/stream.h"
#include "transport/iwarp/send_buffer.h"
#include "wire/iwarp/types.h"

namespace verbena::sim {

// One direction of a TCP connection: takes bytes from a send buffer, cuts them into segments, and
// delivers those late, out of order, twice, or with a changed bit. The receiver gets all bytes in
// order, and sees segments ahead of a gap when they arrive. No more bytes are under way than the
// window allows. One thread.
class ByteStream : public Stream {
 public:
  ByteStream(const IwarpPlan& plan, Random random, Receive receive)
      : plan_(plan), random_(random), receive_(std::move(receive)) {}

  void Pull(transport::SendBuffer& from, Time now) override;
  void Run(Time now) override;
  void Retry() override;
  void Heal() override { is_healed_ = true; }
  void Cut() override {
    segments_.clear();
    arrived_.clear();
    is_cut_ = true;
  }

  [[nodiscard]] Time next_time() const override {
    return segments_.empty() ? Time::Never() : segments_.begin()->first;
  }
  [[nodiscard]] bool is_idle() const override { return segments_.empty() && inbox_.empty(); }
  [[nodiscard]] bool was_corrupted() const override { return was_corrupted_; }

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
};

}  // namespace verbena::sim
