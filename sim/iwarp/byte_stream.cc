#include "sim/iwarp/byte_stream.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace verbena::sim {

using wire::StreamOffset;

void ByteStream::Pull(transport::SendBuffer& from, Time now) {
  while (!from.empty() && !is_cut_) {
    const uint64_t under_way = BytesBetween(taken_, sent_);
    if (under_way >= plan_.stream.receive_window) return;
    const auto bytes = from.bytes()[0];
    const size_t size =
        std::min<uint64_t>({bytes.size(), random_.Between(plan_.segment_min, plan_.segment_max),
                            plan_.stream.receive_window - under_way});
    Segment segment{sent_, Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size))};
    from.Consume(size);
    sent_ = sent_ + size;
    Count(segment.bytes);
    Send(std::move(segment), now);
  }
}

void ByteStream::Send(Segment segment, Time now) {
  const Duration delay = Nanoseconds(
      static_cast<int64_t>(random_.Below(static_cast<uint64_t>(plan_.delay_max.nanoseconds()))));
  Time at = now + delay;
  if (!Chance(plan_.reorders)) last_ = at = std::max(at, last_);
  if (Chance(plan_.corrupts)) {
    segment.bytes[random_.Below(segment.bytes.size())] ^=
        static_cast<std::byte>(1 << random_.Below(8));
    was_corrupted_ = true;
  } else if (Chance(plan_.doubles)) {
    segments_.emplace(now + Nanoseconds(static_cast<int64_t>(random_.Below(1'000'000))), segment);
  }
  if (Chance(plan_.beyond)) segments_.emplace(at, Segment{segment.at, segment.bytes, true});
  segments_.emplace(at, std::move(segment));
}

void ByteStream::Run(Time now) {
  while (!segments_.empty() && segments_.begin()->first <= now) {
    Segment segment = std::move(segments_.begin()->second);
    segments_.erase(segments_.begin());
    Arrive(std::move(segment));
  }
}

// A whole number of marker intervals ahead, so that only the window tells that it is not for now.
void ByteStream::ArriveBeyond(const Segment& segment) {
  constexpr uint64_t kInterval = 512;
  const uint64_t least = BytesBetween(segment.at, taken_) + plan_.stream.receive_window;
  const uint64_t shift = (least + kInterval - 1) / kInterval * kInterval;
  Bytes copy = segment.bytes;
  CHECK(receive_(segment.at + shift, copy) == 0);
}

void ByteStream::Arrive(Segment segment) {
  if (segment.is_stray) {
    if (segment.at <= taken_) ArriveBeyond(segment);
    return;
  }
  const StreamOffset end = taken_ + inbox_.size();
  if (segment.at > end) {
    Bytes copy = segment.bytes;
    if (Chance(plan_.shows) || is_healed_) CHECK(receive_(segment.at, copy) == 0);
    // TCP drops what lies outside of its window.
    if (BytesBetween(taken_, segment.at) < plan_.stream.receive_window) {
      arrived_.emplace(segment.at, std::move(segment.bytes));
    }
    return;
  }
  const uint64_t known = BytesBetween(segment.at, end);
  if (known >= segment.bytes.size()) return;
  inbox_.insert(inbox_.end(), segment.bytes.begin() + static_cast<ptrdiff_t>(known),
                segment.bytes.end());
  while (!arrived_.empty() && arrived_.begin()->first <= taken_ + inbox_.size()) {
    const auto& [at, bytes] = *arrived_.begin();
    const uint64_t covered = BytesBetween(at, taken_ + inbox_.size());
    if (covered < bytes.size()) {
      inbox_.insert(inbox_.end(), bytes.begin() + static_cast<ptrdiff_t>(covered), bytes.end());
    }
    arrived_.erase(arrived_.begin());
  }
  Deliver();
}

void ByteStream::Deliver() {
  const size_t taken = receive_(taken_, inbox_);
  CHECK(taken <= inbox_.size());
  inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<ptrdiff_t>(taken));
  taken_ = taken_ + taken;
}

void ByteStream::Retry() {
  if (!inbox_.empty()) Deliver();
}

}  // namespace verbena::sim
